//! Erasing the contents of many records: of the settled ones first, then of the archive. What has no outcome yet is counted at the end.

use semel_core::store::{Cursor, PAGE_MAX, StateFilter};
use semel_core::{Error, Result, Store};

use super::{Decision, PAGES_MAX, Report, Selection, walk};

/// The lists in their order, and what stands in front of a cursor of each.
const LISTS: [(StateFilter, &str); 4] = [
    (StateFilter::Settled, "settled:"),
    (StateFilter::Archived, "archived:"),
    (StateFilter::Unknown, "unknown:"),
    (StateFilter::Running, "running:"),
];

/// Erases the contents of all settled and archived records that are meant, or, without a decision, says what that would be
/// about. A call is as bounded as one of [`super::decide`]; what has no contents any more is passed over, so that a second
/// run does nothing. Unknown and running records keep what they hold, and are counted. The state in the selection does not count.
pub async fn erase(
    store: &dyn Store,
    selection: &Selection,
    decision: Option<&Decision>,
    before: Option<Cursor>,
) -> Result<Report> {
    let (list, before) = list_of(before)?;
    let (state, name) = LISTS[list];
    let selection = Selection {
        state,
        ..selection.clone()
    };
    let mut report = match state {
        StateFilter::Unknown | StateFilter::Running => count(store, &selection, before).await?,
        _ => walk(store, &selection, decision, before).await?,
    };
    report.next = match (report.next.take(), LISTS.get(list + 1)) {
        (Some(next), _) => Some(Cursor::new(format!("{name}{}", next.as_str()))?),
        (None, Some((_, name))) => Some(Cursor::new(*name)?),
        (None, None) => None,
    };
    Ok(report)
}

/// Counts the records that have no outcome yet.
async fn count(store: &dyn Store, selection: &Selection, before: Option<Cursor>) -> Result<Report> {
    let mut report = Report {
        next: before,
        ..Report::default()
    };
    for _ in 0..PAGES_MAX {
        let query = selection.query(report.next.take(), PAGE_MAX);
        let page = store.list(query).await?;
        let old = |record: &&semel_core::Record| record.claimed_at <= selection.until;
        report.unsettled += page.records.iter().filter(old).count() as u64;
        report.next = page.next;
        if report.next.is_none() {
            break;
        }
    }
    Ok(report)
}

fn list_of(cursor: Option<Cursor>) -> Result<(usize, Option<Cursor>)> {
    let Some(cursor) = cursor else {
        return Ok((0, None));
    };
    let text = cursor.as_str();
    let mut lists = LISTS.into_iter().enumerate();
    let found = lists.find_map(|(list, (_, name))| Some((list, text.strip_prefix(name)?)));
    match found {
        Some((list, "")) => Ok((list, None)),
        Some((list, rest)) => Ok((list, Some(Cursor::new(rest)?))),
        None => Err(Error::invalid(
            "a cursor of an erasure is the `next` of the call before, unchanged; found another",
        )),
    }
}
