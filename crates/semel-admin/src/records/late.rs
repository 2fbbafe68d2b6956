//! Which late outcomes may be adopted for an unknown record.
//!
//! A history can hold late outcomes of earlier lives of a key, from before it was released or
//! purged. Only those count that were brought under the record's own claim, or under a claim that
//! it took over from: they are about the operation that is unknown now.

use semel_core::{Event, EventKind, Fence, Outcome};

/// A late outcome and the claim that brought it.
pub type Late<'a> = (Fence, &'a Outcome);

/// The late outcomes of a claim and of those before it, oldest first, repeats left out.
pub fn candidates(current: Fence, history: &[Event]) -> Vec<Late<'_>> {
    let mut claims = vec![current];
    for event in history.iter().rev() {
        if let EventKind::TookOver { from } = event.kind
            && claims.contains(&event.fence)
        {
            claims.push(from);
        }
    }
    let mut found: Vec<Late<'_>> = Vec::new();
    for event in history {
        if let EventKind::LateOutcome(outcome) = &event.kind
            && claims.contains(&event.fence)
            && !found.contains(&(event.fence, outcome))
        {
            found.push((event.fence, outcome));
        }
    }
    found
}
