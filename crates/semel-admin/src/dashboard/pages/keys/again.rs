//! The second form of an act: what the first one said, once more, with what confirms it.

use maud::{Markup, html};

use crate::dashboard::csrf::FIELD;
use crate::dashboard::{Act, ui};

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
