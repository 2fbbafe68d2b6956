//! What the store's verbs take and answer. Every series is made at the start, so that counting
//! touches atomics only, and so that a series that never happened shows as zero.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Kind;
use semel_core::store::Verb;

use super::histogram::Histogram;

/// What became of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    Granted,
    TookOver,
    Running,
    Replayed,
    StillUnknown,
    Mismatch,
    Renewed,
    RenewLost,
    Succeeded,
    Failed,
    Late,
    NeverGranted,
    Released,
    ReleaseLost,
    Marked,
    MarkLost,
    Resolved,
    Erased,
    ContentsErased,
    Refused,
}

impl Met {
    const ALL: [Self; 20] = [
        Self::Granted,
        Self::TookOver,
        Self::Running,
        Self::Replayed,
        Self::StillUnknown,
        Self::Mismatch,
        Self::Renewed,
        Self::RenewLost,
        Self::Succeeded,
        Self::Failed,
        Self::Late,
        Self::NeverGranted,
        Self::Released,
        Self::ReleaseLost,
        Self::Marked,
        Self::MarkLost,
        Self::Resolved,
        Self::Erased,
        Self::ContentsErased,
        Self::Refused,
    ];

    const fn labels(self) -> Answered {
        let (verb, answer) = match self {
            Self::Granted => (Verb::Claim, "granted"),
            Self::TookOver => (Verb::Claim, "took-over"),
            Self::Running => (Verb::Claim, "running"),
            Self::Replayed => (Verb::Claim, "settled"),
            Self::StillUnknown => (Verb::Claim, "unknown"),
            Self::Mismatch => (Verb::Claim, "mismatch"),
            Self::Renewed => (Verb::Renew, "renewed"),
            Self::RenewLost => (Verb::Renew, "lost"),
            Self::Succeeded => (Verb::Settle, "succeeded"),
            Self::Failed => (Verb::Settle, "failed"),
            Self::Late => (Verb::Settle, "late"),
            Self::NeverGranted => (Verb::Settle, "never-granted"),
            Self::Released => (Verb::Release, "released"),
            Self::ReleaseLost => (Verb::Release, "lost"),
            Self::Marked => (Verb::MarkUnknown, "marked"),
            Self::MarkLost => (Verb::MarkUnknown, "lost"),
            Self::Resolved => (Verb::Resolve, "resolved"),
            Self::Erased => (Verb::Resolve, "erased"),
            Self::ContentsErased => (Verb::Resolve, "contents-erased"),
            Self::Refused => (Verb::Resolve, "refused"),
        };
        let verb = verb.name();
        Answered { verb, answer }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: &'static str,
    answer: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByVerb {
    verb: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failure {
    verb: &'static str,
    kind: &'static str,
}

#[derive(Debug)]
pub(crate) struct Verbs {
    seconds: [Histogram; Verb::ALL.len()],
    items: [Histogram; Verb::ALL.len()],
    answers: [Counter; Met::ALL.len()],
    errors: Family<Failure, Counter>,
}

impl Verbs {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds = per_verb(Histogram::seconds);
        let items = per_verb(Histogram::counts);
        let answers = Family::<Answered, Counter>::default();
        let errors = Family::<Failure, Counter>::default();
        registry.register(
            "semel_store_seconds",
            "How long calls of the store took, by verb",
            seconds.clone(),
        );
        registry.register(
            "semel_store_items",
            "How many items each call of the store had, by verb",
            items.clone(),
        );
        registry.register(
            "semel_store_answers",
            "What the store answered, item by item",
            answers.clone(),
        );
        registry.register(
            "semel_store_errors",
            "Calls that the store could not answer, by verb and kind of error",
            errors.clone(),
        );
        let of_verb = |family: &PerVerb, verb: Verb| {
            let verb = verb.name();
            family.get_or_create_owned(&ByVerb { verb })
        };
        Self {
            seconds: Verb::ALL.map(|verb| of_verb(&seconds, verb)),
            items: Verb::ALL.map(|verb| of_verb(&items, verb)),
            answers: Met::ALL.map(|met| answers.get_or_create_owned(&met.labels())),
            errors,
        }
    }

    /// Counts a call and how long it took.
    pub(crate) fn called(&self, verb: Verb, items: usize, took: Duration) {
        self.seconds[verb as usize].took(took);
        self.items[verb as usize].observe(items as u64);
    }

    /// Counts a call that could not be answered.
    pub(crate) fn failed(&self, verb: Verb, kind: Kind) {
        let (verb, kind) = (verb.name(), kind.name());
        self.errors.get_or_create(&Failure { verb, kind }).inc();
    }

    /// Counts what became of one item.
    pub(crate) fn met(&self, met: Met) {
        self.answers[met as usize].inc();
    }
}

type PerVerb = Family<ByVerb, Histogram, fn() -> Histogram>;

fn per_verb(new: fn() -> Histogram) -> PerVerb {
    Family::new_with_constructor(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_and_answer_stands_at_its_own_place() {
        for (at, verb) in Verb::ALL.into_iter().enumerate() {
            assert_eq!(verb as usize, at);
        }
        for (at, met) in Met::ALL.into_iter().enumerate() {
            assert_eq!(met as usize, at);
        }
    }
}
