//! What forms and filters are made of. All of it works without the script.

use maud::{Markup, html};

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

/// Why a person decides, for the audit.
pub(crate) fn reason(is_required: bool) -> Markup {
    html! {
        label.field.wide {
            span { "Reason, for the audit" }
            input name="reason" maxlength="1000" required[is_required];
        }
    }
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
