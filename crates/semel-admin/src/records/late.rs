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

/// Why a late outcome cannot be put on record, if that is so: its contents are sealed and do not open, so that only a remark in their place would be kept.
pub fn refusal(outcome: &Outcome) -> Option<String> {
    match outcome.headers.locked() {
        Some(why) => {
            let why = String::from_utf8_lossy(why);
            Some(format!("the late outcome is sealed and {why}"))
        }
        None if outcome.headers.are_sealed() => {
            Some("the late outcome is sealed, and the tenant's data key was destroyed".to_owned())
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use semel_core::Headers;

    use super::*;

    #[test]
    fn an_outcome_that_stays_closed_is_not_put_on_record() {
        let refused = |name: &str| {
            let headers = vec![(name.to_owned(), "needs the key a".into())];
            refusal(&Outcome {
                headers: Headers::new(headers).unwrap(),
                ..Outcome::succeeded("")
            })
        };
        assert!(refused(":sealed").unwrap().contains("was destroyed"));
        assert!(refused(":locked").unwrap().contains("needs the key a"));
        assert_eq!(refused("content-type"), None);
    }
}
