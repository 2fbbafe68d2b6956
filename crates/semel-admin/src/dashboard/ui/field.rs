//! What forms and filters are made of. All of it works without the script.

use maud::{Markup, html};
use semel_core::store::REASON_BYTES_MAX;

use crate::dashboard::Ask;

/// The filters of a page: a form that asks for the same page with other parameters.
pub(crate) fn filter(ask: &Ask, fields: Markup) -> Markup {
    html! {
        form.filter method="get" action=(ask.path()) role="search" {
            (fields)
            div.buttons {
                button { "Show" }
                @if ask.here() != ask.path() { a href=(ask.path()) { "Clear" } }
            }
        }
    }
}

/// A line of text.
pub(crate) fn input(name: &str, label: &str, value: Option<&str>, example: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            input name=(name) value=[value] placeholder=(example) spellcheck="false" autocapitalize="off";
        }
    }
}

/// Many lines of text.
pub(crate) fn area(name: &str, label: &str, value: &str) -> Markup {
    html! {
        label.field.wide {
            span { (label) }
            // A parser drops the first line break after the tag.
            textarea name=(name) rows="12" spellcheck="false" { "\n" (value) }
        }
    }
}

/// A choice of values; the first field is the value, the second what people read.
pub(crate) fn select(
    name: &str,
    label: &str,
    options: &[(&str, &str)],
    chosen: Option<&str>,
) -> Markup {
    html! {
        label.field {
            span { (label) }
            select name=(name) {
                @for (value, shown) in options {
                    option value=(value) selected[chosen == Some(*value)] { (shown) }
                }
            }
        }
    }
}

/// How many UTF-16 units a field may take whose text has at most so many bytes: browsers count the former, and one of them has three bytes of UTF-8 at most.
pub(crate) const fn typed_max(bytes_max: usize) -> usize {
    bytes_max / 3
}

/// Why a person decides, for the audit.
pub(crate) fn reason(is_required: bool) -> Markup {
    reason_field(None, is_required)
}

/// The same with what was said before.
pub(crate) fn reason_again(said: Option<&str>) -> Markup {
    reason_field(said, true)
}

fn reason_field(said: Option<&str>, is_required: bool) -> Markup {
    html! {
        label.field.wide {
            span { "Reason, for the audit" }
            input name="reason" maxlength=(typed_max(REASON_BYTES_MAX)) value=[said] required[is_required];
        }
    }
}

/// A box to tick; one that is left empty sends nothing.
pub(crate) fn checkbox(name: &str, label: &str) -> Markup {
    html! { label { input type="checkbox" name=(name) value="yes"; " " (label) } }
}

/// Fields that a second form repeats.
pub(crate) fn keep(fields: &[(&str, &str)]) -> Markup {
    html! { @for (name, value) in fields { input type="hidden" name=(name) value=(value); } }
}

/// A button that posts its form; `name` and `value` say which one was pressed.
pub(crate) fn button(name: &str, value: &str, label: &str) -> Markup {
    html! { button.primary name=(name) value=(value) { (label) } }
}

/// A button for what cannot be taken back.
pub(crate) fn danger(name: &str, value: &str, label: &str) -> Markup {
    html! { button.danger name=(name) value=(value) { (label) } }
}

/// Leads to the next part of a list, by the parameter `before`, and back to its begin.
pub(crate) fn pager(ask: &Ask, next: Option<&str>) -> Markup {
    let is_first = !ask.here().contains("before=");
    html! {
        @if !is_first || next.is_some() {
            nav.pager aria-label="Parts of the list" {
                @if !is_first { a href=(ask.link(&[("before", None)])) { "Newest" } }
                @if let Some(next) = next { a rel="next" href=(ask.link(&[("before", Some(next))])) { "Older" } }
            }
        }
    }
}
