//! What stands by itself on a page.

use maud::{Markup, html};

use super::Tone;

/// A part of a page under a heading.
pub(crate) fn section(title: &str, content: Markup) -> Markup {
    html! { section.part { h2 { (title) } (content) } }
}

/// Names and what they are.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
        }
    }
}

/// Where there is nothing to show: why, and what to do next.
pub(crate) fn empty(why: &str, next: Markup) -> Markup {
    html! { div.empty { p { strong { (why) } } p { (next) } } }
}

/// What can be opened. What a viewer opened stays open and is not replaced by a live update; the `id` is how the script knows it.
pub(crate) fn disclosure(id: &str, summary: &str, content: Markup) -> Markup {
    html! { details id=(id) { summary { (summary) } (content) } }
}

/// Text as it stands: payloads, headers, commands.
pub(crate) fn code(text: &str) -> Markup {
    html! { pre tabindex="0" { code { (text) } } }
}

/// Something to know, in a colour.
pub(crate) fn notice(tone: Tone, text: Markup) -> Markup {
    html! { p class={ "notice " (tone.class()) } { (text) } }
}
