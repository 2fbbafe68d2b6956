//! How much went through the process, scope by scope and consumer by consumer, as the dashboard reads it: the series of
//! Prometheus cannot be read back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use semel_core::Scope;
use semel_core::inbox::{Receipt, State};
use semel_core::once::Recorded;
use semel_http::event::{Event, What};
use semel_http::problem::Type;
use semel_inbox::AttemptEnd;

use super::bounded::Bounded;
use super::inbox::CONSUMERS_MAX;
use super::requests::SCOPES_MAX;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Any of the others.
    All,
    /// It was answered from the record.
    Replayed,
    /// The operation was running for another one.
    InProgress,
    /// The key was used for something else.
    Conflict,
    /// It was refused because the outcome is unknown, or its own became so.
    Unknown,
    /// It was refused, or failed, otherwise.
    Refused,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// It arrived.
    Received,
    /// It was known already.
    Duplicate,
    /// Its id was used for another payload.
    Conflict,
    /// It was processed.
    Completed,
    /// An attempt failed.
    Failed,
}

const REQUESTS: usize = 6;
const MESSAGES: usize = 5;

/// Counts of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Requests([u64; REQUESTS]);

/// Counts of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Messages([u64; MESSAGES]);

impl Requests {
    /// How many there were of a kind.
    pub(crate) const fn of(&self, kind: Request) -> u64 {
        self.0[kind as usize]
    }

    /// Those that asked for what was asked before.
    pub(crate) const fn duplicates(&self) -> u64 {
        self.of(Request::Replayed) + self.of(Request::InProgress)
    }
}

impl Messages {
    /// How many there were of a kind.
    pub(crate) const fn of(&self, kind: Message) -> u64 {
        self.0[kind as usize]
    }
}

/// What went through since the process began, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Through {
    pub(crate) scopes: BTreeMap<String, Requests>,
    pub(crate) consumers: BTreeMap<String, Messages>,
}

impl Through {
    /// Of all scopes.
    pub(crate) fn requests(&self) -> Requests {
        Requests(sum(self.scopes.values().map(|counts| counts.0)))
    }

    /// Of all consumers.
    pub(crate) fn messages(&self) -> Messages {
        Messages(sum(self.consumers.values().map(|counts| counts.0)))
    }
}

fn sum<const N: usize>(all: impl Iterator<Item = [u64; N]>) -> [u64; N] {
    let mut total = [0; N];
    for counts in all {
        for (total, count) in total.iter_mut().zip(counts) {
            *total += count;
        }
    }
    total
}

#[derive(Debug)]
pub(super) struct Flow {
    scopes: Named<REQUESTS>,
    consumers: Named<MESSAGES>,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            scopes: Named::new(SCOPES_MAX),
            consumers: Named::new(CONSUMERS_MAX),
        }
    }
}

impl Flow {
    pub(super) fn saw(&self, event: &Event<'_>) {
        let became = match event.what {
            What::Replayed => Some(Request::Replayed),
            What::Refused(Type::InProgress) => Some(Request::InProgress),
            What::Refused(Type::KeyReused) => Some(Request::Conflict),
            // One that timed out or broke off may have taken effect, as one that answered 500 may.
            What::Ran(Recorded::Unknown)
            | What::Refused(Type::OutcomeUnknown | Type::UpstreamTimeout | Type::UpstreamFailed) => {
                Some(Request::Unknown)
            }
            What::Refused(_) => Some(Request::Refused),
            _ => None,
        };
        let all = [Request::All].into_iter().chain(became);
        self.scopes
            .count(event.scope, all.map(|kind| kind as usize));
    }

    pub(super) fn received(&self, consumer: &Scope, receipt: Receipt) {
        let became = match receipt {
            Receipt::Stored { .. } => None,
            Receipt::Duplicate { .. } => Some(Message::Duplicate),
            Receipt::Conflict => Some(Message::Conflict),
        };
        let all = [Message::Received].into_iter().chain(became);
        self.consumers
            .count(consumer, all.map(|kind| kind as usize));
    }

    pub(super) fn finished(&self, consumer: &Scope, end: AttemptEnd) {
        let became = match end.state {
            _ if end.late => return,
            State::Completed => Message::Completed,
            State::FailedRetryable | State::FailedTerminal | State::Parked => Message::Failed,
            State::Received | State::InProgress | State::SkippedDuplicate => return,
        };
        self.consumers
            .count(consumer, [became as usize].into_iter());
    }

    pub(super) fn through(&self) -> Through {
        let scopes = self.scopes.read().into_iter();
        let consumers = self.consumers.read().into_iter();
        Through {
            scopes: scopes
                .map(|(name, counts)| (name, Requests(counts)))
                .collect(),
            consumers: consumers
                .map(|(name, counts)| (name, Messages(counts)))
                .collect(),
        }
    }
}

/// Counters by name; what comes beyond the limit shares the name `other`.
#[derive(Debug)]
struct Named<const N: usize>(Bounded<Scope, Counters<N>>);

#[derive(Debug)]
struct Counters<const N: usize> {
    name: Arc<str>,
    counts: [AtomicU64; N],
}

impl<const N: usize> Counters<N> {
    fn new(name: Arc<str>) -> Self {
        let counts = std::array::from_fn(|_| AtomicU64::new(0));
        Self { name, counts }
    }

    fn read(&self) -> [u64; N] {
        std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed))
    }
}

impl<const N: usize> Named<N> {
    fn new(max: usize) -> Self {
        Self(Bounded::new(max))
    }

    fn count(&self, name: &Scope, kinds: impl Iterator<Item = usize>) {
        let counters = self.0.get(name, || name.to_string(), Counters::new);
        for kind in kinds {
            counters.counts[kind].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self) -> BTreeMap<String, [u64; N]> {
        let all = self.0.all().into_iter();
        all.map(|counters| (counters.name.to_string(), counters.read()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_timed_out_or_broke_off_counts_as_unknown() {
        for (what, kind) in [
            (What::Refused(Type::UpstreamTimeout), Request::Unknown),
            (What::Refused(Type::UpstreamFailed), Request::Unknown),
            (What::Refused(Type::OutcomeUnknown), Request::Unknown),
            (What::Ran(Recorded::Unknown), Request::Unknown),
            (What::Refused(Type::UpstreamUnreachable), Request::Refused),
            (What::Refused(Type::KeyMissing), Request::Refused),
        ] {
            let flow = Flow::default();
            flow.saw(&Event {
                scope: &"payments".parse().unwrap(),
                identity: None,
                what,
                status: 504,
                took: std::time::Duration::ZERO,
            });
            let counted = flow.through().requests();
            assert_eq!(counted.of(kind), 1, "{what:?}");
            assert_eq!(counted.of(Request::All), 1, "{what:?}");
        }
    }

    #[test]
    fn names_beyond_the_limit_share_one() {
        let named: Named<1> = Named::new(2);
        for name in ["a", "b", "c", "d", "a"] {
            named.count(&name.parse().unwrap(), [0].into_iter());
        }
        let read = named.read();
        let expected = [("a@1", 2), ("b@1", 1), ("other", 2)];
        assert_eq!(
            read,
            expected
                .map(|(name, count)| (name.to_owned(), [count]))
                .into()
        );
    }
}
