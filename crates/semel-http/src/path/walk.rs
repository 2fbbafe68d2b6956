//! Finds what a path names without building the text of each match's location.
//!
//! The library writes the location of every match into a string of its own: a long field name above many matches costs
//! gigabytes. Names, indices, slices, wildcards and `..` are walked here instead, within [`VISITS_MAX`]. Filters are
//! left to the library, in documents of at most [`FILTERED_MAX`] values.

use jsonpath_rust::parser::model::{JpQuery, Segment, Selector};
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

/// The most values that one look at a document visits. A document of 1 MiB has about half a million; only a path with
/// several `..` visits one of them more than a few times.
pub(super) const VISITS_MAX: usize = 4 * 1024 * 1024;

/// The most values of a document that a path with a filter is looked for in.
const FILTERED_MAX: usize = 10_000;

/// The values that `query` finds, in the document's order; `None` if that would take more than [`VISITS_MAX`] visits.
pub(super) fn find<'a>(query: &JpQuery, document: &'a Value) -> Option<Vec<&'a Value>> {
    if query.segments.iter().any(has_filter) {
        let mut walk = Walk { left: FILTERED_MAX };
        walk.descend(document, &mut Vec::new())?;
        let found = js_path_process(query, document).ok()?;
        return Some(found.into_iter().map(|found| found.val).collect());
    }
    let mut walk = Walk { left: VISITS_MAX };
    let mut segments = query.segments.iter();
    segments.try_fold(vec![document], |nodes, segment| walk.step(segment, &nodes))
}

fn has_filter(segment: &Segment) -> bool {
    let is_filter = |selector: &Selector| matches!(selector, Selector::Filter(_));
    match segment {
        Segment::Descendant(inner) => has_filter(inner),
        Segment::Selector(selector) => is_filter(selector),
        Segment::Selectors(selectors) => selectors.iter().any(is_filter),
    }
}

/// One look at a document.
struct Walk {
    /// How many visits are left.
    left: usize,
}

impl Walk {
    fn visit(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }

    fn step<'a>(&mut self, segment: &Segment, nodes: &[&'a Value]) -> Option<Vec<&'a Value>> {
        match segment {
            Segment::Descendant(inner) => {
                let mut below = Vec::new();
                for node in nodes {
                    self.descend(node, &mut below)?;
                }
                self.step(inner, &below)
            }
            Segment::Selector(selector) => self.select(selector, nodes),
            Segment::Selectors(selectors) => {
                let mut found = Vec::new();
                for selector in selectors {
                    found.extend(self.select(selector, nodes)?);
                }
                Some(found)
            }
        }
    }

    /// Every list and object from `node` on, each before what is in it. Documents are at most as deep as the parser lets
    /// them be.
    fn descend<'a>(&mut self, node: &'a Value, found: &mut Vec<&'a Value>) -> Option<()> {
        match node {
            Value::Array(items) => {
                self.visit(1 + items.len())?;
                found.push(node);
                items.iter().try_for_each(|item| self.descend(item, found))
            }
            Value::Object(fields) => {
                self.visit(1 + fields.len())?;
                found.push(node);
                fields
                    .values()
                    .try_for_each(|value| self.descend(value, found))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
        }
    }

    fn select<'a>(&mut self, selector: &Selector, nodes: &[&'a Value]) -> Option<Vec<&'a Value>> {
        let mut found = Vec::new();
        for node in nodes {
            let before = found.len();
            selected(selector, node, &mut found);
            self.visit(1 + found.len() - before)?;
        }
        Some(found)
    }
}

fn selected<'a>(selector: &Selector, node: &'a Value, found: &mut Vec<&'a Value>) {
    match (selector, node) {
        (Selector::Name(name), Value::Object(fields)) => found.extend(fields.get(name)),
        (Selector::Wildcard, Value::Object(fields)) => found.extend(fields.values()),
        (Selector::Wildcard, Value::Array(items)) => found.extend(items),
        (Selector::Index(index), Value::Array(items)) => found.extend(at(items, *index)),
        (Selector::Slice(start, end, step), Value::Array(items)) => {
            slice(items, *start, *end, step.unwrap_or(1), found);
        }
        _ => {}
    }
}

/// An index below zero counts from the end.
fn at(items: &[Value], index: i64) -> Option<&Value> {
    let back = usize::try_from(index.unsigned_abs()).ok()?;
    match index < 0 {
        true => items.get(items.len().checked_sub(back)?),
        false => items.get(back),
    }
}

/// RFC 9535 §2.3.4.2.2.
fn slice<'a>(
    items: &'a [Value],
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    found: &mut Vec<&'a Value>,
) {
    let Ok(len) = i64::try_from(items.len()) else {
        return;
    };
    let from_start = |index: i64| {
        if index < 0 {
            len.saturating_add(index)
        } else {
            index
        }
    };
    let (mut index, past, forwards) = match step {
        0 => return,
        1.. => {
            let start = from_start(start.unwrap_or(0)).clamp(0, len);
            let end = from_start(end.unwrap_or(len)).clamp(0, len);
            (start, end, true)
        }
        _ => {
            let start = start.map_or(len - 1, from_start).clamp(-1, len - 1);
            let end = end.map_or(-1, from_start).clamp(-1, len - 1);
            (start, end, false)
        }
    };
    while (forwards && index < past) || (!forwards && index > past) {
        found.extend(usize::try_from(index).ok().and_then(|at| items.get(at)));
        index = index.saturating_add(step);
    }
}
