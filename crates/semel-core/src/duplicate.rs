//! What is known of a duplicate at the moment it is recognised. Doors and engines report it; metrics count it.
//!
//! Nothing is looked up for it: the record, or the receipt of the inbox, that answers a duplicate says all of this.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::identity::Scope;
use crate::outcome::Settled;
use crate::record::{Record, State};

/// Where a duplicate came from, as far as that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Its sender sent it again after the first had ended.
    ClientRetry,
    /// Its sender sent it again while the first ran or waited.
    ConcurrentRetry,
    /// The broker delivered it again.
    Redelivery,
    /// The broker delivered it again shortly after this process had taken or lost a part of the source.
    Rebalance,
    /// Semel itself ran it again: an operator's retry or replay, or a message whose worker was lost.
    OwnReplay,
    /// The same request or payload came moments later under another key. It is no duplicate to any store, so it ran.
    NewKey,
}

impl Origin {
    /// Every origin, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::ClientRetry,
        Self::ConcurrentRetry,
        Self::Redelivery,
        Self::Rebalance,
        Self::OwnReplay,
        Self::NewKey,
    ];

    /// The lowercase name used in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientRetry => "client-retry",
            Self::ConcurrentRetry => "concurrent-retry",
            Self::Redelivery => "redelivery",
            Self::Rebalance => "rebalance",
            Self::OwnReplay => "own-replay",
            Self::NewKey => "new-key",
        }
    }

    /// Whether a run was saved: what Semel repeated by itself, or could not recognise, ran.
    pub const fn is_suppressed(self) -> bool {
        match self {
            Self::ClientRetry | Self::ConcurrentRetry | Self::Redelivery | Self::Rebalance => true,
            Self::OwnReplay | Self::NewKey => false,
        }
    }
}

/// One duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate<'a> {
    /// Its operation or consumer.
    pub scope: &'a Scope,
    /// Where it came from.
    pub origin: Origin,
    /// How long after the first it came: after its claim, for messages after its receipt. `None` if that is not known.
    pub age: Option<Duration>,
    /// How long it came after the first was settled, which is when its retention began; `None` while it is not, or if that is not known.
    pub settled: Option<Duration>,
    /// How long the run took that was not repeated; `None` if it has not ended, or ran again.
    pub took: Option<Duration>,
    /// How long outcomes are remembered, as far as that is known here: no duplicate that comes later can be recognised.
    pub retention: Option<Duration>,
}

impl<'a> Duplicate<'a> {
    /// One of which nothing but its origin is known.
    pub const fn of(scope: &'a Scope, origin: Origin) -> Self {
        Self {
            scope,
            origin,
            age: None,
            settled: None,
            took: None,
            retention: None,
        }
    }

    /// One that was answered from a record at `now`, by the store's clock, and had `waited` for the answer since it came.
    pub fn answered(record: &'a Record, now: Timestamp, waited: Duration) -> Self {
        let settled = settled(record);
        let arrived = now.before(waited);
        let before = settled.filter(|settled| settled.at <= arrived);
        let origin = match before {
            Some(_) => Origin::ClientRetry,
            None => Origin::ConcurrentRetry,
        };
        Self {
            age: Some(arrived.since(record.claimed_at)),
            settled: before.map(|settled| arrived.since(settled.at)),
            took: settled.map(|settled| settled.took),
            retention: settled.map(|settled| settled.expires_at.since(settled.at)),
            ..Self::of(record.identity.scope(), origin)
        }
    }
}

const fn settled(record: &Record) -> Option<&Settled> {
    match &record.state {
        State::Settled(settled) => Some(settled),
        State::Running { .. } | State::Unknown { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fence, Fingerprint, Identity, Outcome};

    fn record(claimed_ms: i64, settled_ms: i64) -> Record {
        let at = Timestamp::from_millis(settled_ms);
        Record {
            identity: Identity::parse("public", "pay", "k").unwrap(),
            fingerprint: Fingerprint::none(),
            fence: Fence::new(1),
            attempt: 1,
            claimed_at: Timestamp::from_millis(claimed_ms),
            about: None,
            nonce: None,
            state: State::Settled(Settled {
                outcome: Outcome::succeeded("ok"),
                at,
                took: Duration::from_millis(250),
                expires_at: at.after(Duration::from_secs(60)),
                archive: false,
                resolved: false,
                erased: false,
            }),
        }
    }

    #[test]
    fn a_duplicate_is_concurrent_if_it_came_before_the_first_had_ended() {
        let record = record(1_000, 1_300);
        // When it was answered, how long it had waited; its age, how long the first was settled, and its origin.
        let table = [
            (1_300, 0, 300, Some(0), Origin::ClientRetry),
            (1_310, 20, 290, None, Origin::ConcurrentRetry),
            (5_000, 0, 4_000, Some(3_700), Origin::ClientRetry),
            (5_000, 3_000, 1_000, Some(700), Origin::ClientRetry),
            // A store's clock and a process's may disagree by a moment.
            (1_000, 500, 0, None, Origin::ConcurrentRetry),
        ];
        for (now, waited, age, since, origin) in table {
            let (now, waited) = (Timestamp::from_millis(now), Duration::from_millis(waited));
            let found = Duplicate::answered(&record, now, waited);
            assert_eq!(found.origin, origin, "{now} {waited:?}");
            assert_eq!(found.age, Some(Duration::from_millis(age)));
            assert_eq!(found.settled, since.map(Duration::from_millis));
            assert_eq!(found.took, Some(Duration::from_millis(250)));
            assert_eq!(found.retention, Some(Duration::from_secs(60)));
        }
    }
}
