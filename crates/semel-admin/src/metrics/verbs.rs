//! What the store's verbs take and answer. All series of a verb are made when it is first called: afterwards counting touches
//! atomics only and an answer that never came shows as zero, while a verb that is never called shows nothing.

use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Kind;
use semel_core::store::Verb;

use super::histogram::{Histogram, Sizes};

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

    const fn labels(self) -> (Verb, &'static str) {
        match self {
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
        }
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
    seconds: PerVerb,
    items: PerVerb,
    answers: Family<Answered, Counter>,
    errors: Family<Failure, Counter>,
    calls: [OnceLock<Calls>; Verb::ALL.len()],
    met: [OnceLock<Counter>; Met::ALL.len()],
}

/// The histograms of a verb.
#[derive(Debug)]
struct Calls {
    seconds: Histogram,
    items: Histogram,
}

impl Verbs {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let verbs = Self {
            seconds: per_verb(Histogram::seconds),
            items: per_verb(Histogram::counts),
            answers: Family::default(),
            errors: Family::default(),
            calls: Default::default(),
            met: Default::default(),
        };
        registry.register(
            "semel_store_seconds",
            "How long calls of the store took, by verb",
            verbs.seconds.clone(),
        );
        registry.register(
            "semel_store_items",
            "How many items each call of the store had, by verb",
            verbs.items.clone(),
        );
        registry.register(
            "semel_store_answers",
            "What the store answered, item by item",
            verbs.answers.clone(),
        );
        registry.register(
            "semel_store_errors",
            "Calls that the store could not answer, by verb and kind of error",
            verbs.errors.clone(),
        );
        verbs
    }

    /// Counts a call and how long it took.
    pub(crate) fn called(&self, verb: Verb, items: usize, took: Duration) {
        let calls = self.calls[verb as usize].get_or_init(|| self.begin(verb));
        calls.seconds.took(took);
        calls.items.observe(items as u64);
    }

    /// Makes the series of a verb that is called for the first time.
    fn begin(&self, verb: Verb) -> Calls {
        for met in Met::ALL.into_iter().filter(|met| met.labels().0 == verb) {
            self.counter(met);
        }
        let verb = verb.name();
        Calls {
            seconds: self.seconds.get_or_create_owned(&ByVerb { verb }),
            items: self.items.get_or_create_owned(&ByVerb { verb }),
        }
    }

    /// Counts a call that could not be answered.
    pub(crate) fn failed(&self, verb: Verb, kind: Kind) {
        let (verb, kind) = (verb.name(), kind.name());
        self.errors.get_or_create(&Failure { verb, kind }).inc();
    }

    /// Counts what became of one item.
    pub(crate) fn met(&self, met: Met) {
        self.counter(met).inc();
    }

    /// How often this was the answer.
    pub(crate) fn count(&self, met: Met) -> u64 {
        self.met[met as usize].get().map_or(0, Counter::get)
    }

    /// How often the store was asked for a claim, item by item.
    pub(crate) fn claims(&self) -> u64 {
        let claims = Met::ALL.into_iter();
        let claims = claims.filter(|met| met.labels().0 == Verb::Claim);
        claims.map(|met| self.count(met)).sum()
    }

    /// How long looking an operation up took: by claims and by look-ups.
    pub(crate) fn look_ups(&self) -> Sizes {
        let none = Histogram::seconds().read();
        let verbs = [Verb::Claim, Verb::LookUp].into_iter();
        let calls = verbs.filter_map(|verb| self.calls[verb as usize].get());
        calls.fold(none, |sum, calls| sum.plus(&calls.seconds.read()))
    }

    fn counter(&self, met: Met) -> &Counter {
        self.met[met as usize].get_or_init(|| {
            let (verb, answer) = met.labels();
            let verb = verb.name();
            self.answers.get_or_create_owned(&Answered { verb, answer })
        })
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
