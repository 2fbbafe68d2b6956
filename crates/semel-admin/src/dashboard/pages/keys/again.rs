//! The second form of an act: what the first one said, once more, with what confirms it.

use maud::{Markup, html};
use semel_core::Timestamp;
use semel_core::store::Cursor;

use crate::dashboard::csrf::FIELD;
use crate::dashboard::{Act, ui};

/// The button that leads to the next part.
const GO_ON: &str = "go_on";

/// A form with all fields of the one that was posted, but `without` some.
pub(in crate::dashboard::pages) fn again(act: &Act, without: &[&str], content: Markup) -> Markup {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(&act.form).unwrap_or_default();
    let kept: Vec<(&str, &str)> = pairs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, value)| *name != FIELD && !value.is_empty() && !without.contains(name))
        .collect();
    act.ask.form(html! { (ui::keep(&kept)) (content) })
}

/// The same form for the part that follows: what was confirmed stays so. `until` is the moment of the first look, so that no step is about more than that
/// has shown.
pub(in crate::dashboard::pages) fn go_on(
    act: &Act,
    until: Timestamp,
    next: &Cursor,
    label: &str,
    leave: Markup,
) -> Markup {
    let until = until.to_string();
    let place = [("older_than", until.as_str()), ("before", next.as_str())];
    again(
        act,
        &["older_than", "before", GO_ON],
        html! {
            (ui::keep(&place))
            (ui::button(GO_ON, "yes", label))
            " " (leave)
        },
    )
}
