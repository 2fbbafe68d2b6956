//! What the store has acknowledged, as workers said it.

use std::collections::{BTreeMap, BTreeSet};

use semel_powerloss::Moment;

use crate::job::number_of;

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// The power has failed at this moment.
    Lost(Moment),
    /// This is known of an operation.
    Known(String, Step),
}

/// The last that was acknowledged of an operation; the numbers are fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Claimed(u64),
    /// Not acknowledged: the store is about to be asked.
    Releasing(u64),
    Released(u64),
    Settled(u64),
    Received,
    Took(u64),
    Finished(u64),
}

pub(crate) fn word_of(line: &str) -> Word {
    let words: Vec<&str> = line.split(' ').collect();
    let known = |name: &str, step| Word::Known(name.to_owned(), step);
    let number = |fence: &str| fence.parse().expect("a fence");
    match words[..] {
        ["lost", moment] => Word::Lost(Moment::from_name(moment).expect("a known moment")),
        ["received", name] => known(name, Step::Received),
        ["claimed", name, fence] => known(name, Step::Claimed(number(fence))),
        ["releasing", name, fence] => known(name, Step::Releasing(number(fence))),
        ["released", name, fence] => known(name, Step::Released(number(fence))),
        ["settled", name, fence] => known(name, Step::Settled(number(fence))),
        ["took", name, fence] => known(name, Step::Took(number(fence))),
        ["finished", name, fence] => known(name, Step::Finished(number(fence))),
        _ => panic!("a worker said {line:?}"),
    }
}

/// Everything that was acknowledged on one file.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) known: BTreeMap<String, Step>,
    fences: BTreeSet<u64>,
    /// Fences up to this were drawn before the first worker came.
    pub(crate) floor: u64,
    /// The first operation that no worker has spoken of.
    pub(crate) next: u64,
    /// How many answers of the store were heard.
    pub(crate) acknowledged: usize,
}

impl Account {
    /// Notes what was said; what is wrong with it, if anything is.
    pub(crate) fn note(&mut self, name: String, step: Step) -> Option<String> {
        let again = match step {
            Step::Claimed(fence) | Step::Took(fence) => {
                !self.fences.insert(fence) || fence <= self.floor
            }
            _ => false,
        };
        let wrong =
            again.then(|| format!("{name} was granted a fence that was drawn before: {step:?}"));
        self.next = self.next.max(number_of(&name) + 1);
        self.acknowledged += usize::from(!matches!(step, Step::Releasing(_)));
        // A source delivers again what it has not seen finished: that adds nothing to what is known.
        match (self.known.get(&name), step) {
            (Some(Step::Took(_) | Step::Finished(_)), Step::Received) => {}
            _ => drop(self.known.insert(name, step)),
        }
        wrong
    }
}
