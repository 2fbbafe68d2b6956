//! Erasing the contents of many records: of the settled ones first, then of the archive.

use semel_core::store::{Cursor, StateFilter};
use semel_core::{Error, Result, Store};

use super::{Decision, Report, Selection, walk};

/// What stands in front of a cursor: which of the two lists it is of.
const LISTS: [(StateFilter, &str); 2] = [
    (StateFilter::Settled, "settled:"),
    (StateFilter::Archived, "archived:"),
];

/// Erases the contents of all settled and archived records that are meant, or, without a decision, says what that would be
/// about. A call is as bounded as one of [`super::decide`]; what has no contents any more is passed over, so that a second
/// run does nothing. The state in the selection does not count.
pub async fn erase(
    store: &dyn Store,
    selection: &Selection,
    decision: Option<&Decision>,
    before: Option<Cursor>,
) -> Result<Report> {
    let (state, before) = list_of(before)?;
    let selection = Selection {
        state,
        ..selection.clone()
    };
    let mut report = walk(store, &selection, decision, before).await?;
    report.next = match report.next.take() {
        Some(next) => Some(cursor(state, next.as_str())?),
        None if state == StateFilter::Settled => Some(cursor(StateFilter::Archived, "")?),
        None => None,
    };
    Ok(report)
}

fn list_of(cursor: Option<Cursor>) -> Result<(StateFilter, Option<Cursor>)> {
    let Some(cursor) = cursor else {
        return Ok((StateFilter::Settled, None));
    };
    let text = cursor.as_str();
    let mut lists = LISTS.into_iter();
    let found = lists.find_map(|(state, name)| Some((state, text.strip_prefix(name)?)));
    match found {
        Some((state, "")) => Ok((state, None)),
        Some((state, rest)) => Ok((state, Some(Cursor::new(rest)?))),
        None => Err(Error::invalid(
            "a cursor of an erasure is the `next` of the call before, unchanged; found another",
        )),
    }
}

fn cursor(state: StateFilter, rest: &str) -> Result<Cursor> {
    let name = LISTS.iter().find(|(of, _)| *of == state);
    Cursor::new(format!("{}{rest}", name.map_or("", |(_, name)| name)))
}
