//! What callers were told, held against what happened.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use super::caller::End;
use crate::ledger::Ledger;

/// How a storm went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Distinct operations.
    pub operations: usize,
    /// Operations of which a caller was told that they are done, and on record.
    pub told_done: usize,
    /// How often a caller was told that the store cannot answer and nothing ran.
    pub refused_unavailable: usize,
    /// Operations that ended on hold, because nobody knows whether they took effect.
    pub unknown: usize,
    /// Operations of which some caller never heard anything final.
    pub unfinished: usize,
    /// Effects in the ledger.
    pub effects: usize,
    /// Operations with more than one effect.
    pub doubled: usize,
    /// Operations of which a caller was told that they are done, and which have no effect or are no
    /// longer on record.
    pub lost: usize,
    /// What else should not be.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Fails if an operation took effect more than once, if a caller was told of an effect that there
    /// is not, or if a caller never got an end.
    #[track_caller]
    pub fn assert_once(&self) {
        let ok = (self.doubled, self.lost, self.unfinished) == (0, 0, 0) && self.wrong.is_empty();
        assert!(ok, "expected every operation once, found {self:#?}");
    }
}

/// What is noted while a storm goes on.
#[derive(Debug, Default)]
pub(super) struct Account {
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    operations: BTreeMap<String, Ends>,
    refused: usize,
    wrong: Vec<String>,
}

/// What the callers of one operation were told.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    done: bool,
    unknown: bool,
    nothing: bool,
    /// Somebody was told that it is done, and somebody later that it is not.
    taken_back: bool,
}

impl Account {
    pub(super) fn told(&self, operation: &str, end: End) {
        let mut notes = self.notes();
        notes
            .operations
            .entry(operation.to_owned())
            .or_default()
            .note(end);
    }

    /// What is told when all callers have their end.
    pub(super) fn audited(&self, operation: &str, end: End) {
        let mut notes = self.notes();
        let ends = notes.operations.entry(operation.to_owned()).or_default();
        ends.taken_back |= ends.done && end != End::Done;
        ends.note(end);
    }

    pub(super) fn refused(&self) {
        self.notes().refused += 1;
    }

    pub(super) fn wrong(&self, operation: &str, what: &str) {
        self.notes().wrong.push(format!("{operation} {what}"));
    }

    /// Adds up. On hold, what is unknown stays unknown.
    pub(super) fn tally(&self, ledger: &Ledger, operations: &[String], hold: bool) -> Tally {
        let notes = self.notes();
        let mut tally = Tally {
            operations: operations.len(),
            refused_unavailable: notes.refused,
            wrong: notes.wrong.clone(),
            ..Tally::default()
        };
        for operation in operations {
            let effects = ledger.count(operation).expect("the ledger can be read");
            let ends = notes.operations.get(operation).copied();
            let ends = ends.unwrap_or_default();
            tally.told_done += usize::from(ends.done);
            if hold && ends.done && ends.unknown {
                let wrong = format!("{operation} was told both done and unknown");
                tally.wrong.push(wrong);
            }
            tally.unknown += usize::from(ends.unknown && !ends.done);
            tally.unfinished += usize::from(ends.nothing);
            tally.effects += effects;
            tally.doubled += usize::from(effects > 1);
            tally.lost += usize::from(ends.taken_back || (ends.done && effects == 0));
        }
        tally
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().expect("nobody panics while holding this")
    }
}

impl Ends {
    const fn note(&mut self, end: End) {
        match end {
            End::Done => self.done = true,
            End::Unknown => self.unknown = true,
            End::Nothing => self.nothing = true,
        }
    }
}
