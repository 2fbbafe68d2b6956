//! The kit that pages are made of.
//!
//! - `table` has rows with stable ids, which become cards on a phone.
//! - `field` has what forms and filters are made of.
//! - `show` has times, numbers and states.
//! - `chart` draws lines over time.
//! - `bars` draws how often something was so large.
//! - `block` has what stands by itself: sections, lists of facts, empty states, disclosures.

mod bars;
mod block;
mod chart;
mod field;
mod show;
mod table;

pub(crate) use bars::{Bar, bars};
pub(crate) use block::{code, disclosure, empty, facts, notice, section};
pub(crate) use chart::{Line, Point, chart, shown as rate};
pub(crate) use field::{
    area, button, checkbox, danger, filter, input, keep, pager, reason, reason_again, select,
    typed_max,
};
pub(crate) use show::{
    Tone, ago, at_least, badge, bytes, count, duration, percent, state, time, whole,
};
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

/// The address of a page, if there is such a page: what another page links to.
pub(crate) fn page_at(path: &'static str) -> Option<&'static str> {
    super::table::find(path).map(|route| route.path)
}
