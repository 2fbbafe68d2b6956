//! The kit that pages are made of.
//!
//! - `table` has rows with stable ids, which become cards on a phone.
//! - `field` has what forms and filters are made of.
//! - `show` has times, numbers and states.
//! - `bars` draws how often something was so large.
//! - `block` has what stands by itself: sections, lists of facts, empty states, disclosures.

mod bars;
mod block;
mod field;
mod show;
mod table;

pub(crate) use bars::{Bar, bars};
pub(crate) use block::{code, disclosure, empty, facts, notice, section};
pub(crate) use field::{area, button, danger, filter, input, keep, pager, reason, select};
pub(crate) use show::{Tone, ago, badge, bytes, count, duration, percent, state, time};
pub(crate) use table::{Row, Table};

/// A path with parameters.
pub(crate) fn address(path: &str, pairs: &[(String, String)]) -> String {
    match pairs.is_empty() {
        true => path.to_owned(),
        false => {
            let query = serde_urlencoded::to_string(pairs).expect("pairs of texts can be written");
            format!("{path}?{query}")
        }
    }
}

/// The same for texts that are borrowed.
pub(crate) fn link_to(path: &str, pairs: &[(&str, &str)]) -> String {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    address(path, &pairs.iter().map(owned).collect::<Vec<_>>())
}
