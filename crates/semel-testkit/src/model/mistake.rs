//! The seeded mistakes of stores, each as a wrong argument to a shipped verb: the verb itself stays the same; and
//! those of the driver, each as a decision of the worker that the shipped one does not make.

use semel_core::{Fence, LeaseTerm, Record, State, Timestamp};

use super::config::Bug;

/// The verbs in which a mistake can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Claim,
    Renew,
    Settle,
    Release,
    MarkUnknown,
    Resolve,
}

impl Bug {
    /// The record that a verb decides about: what is stored, or what the mistake makes of it.
    pub(super) fn seen(self, verb: Verb, stored: Option<Record>, now: Timestamp) -> Option<Record> {
        let later = now.after(LeaseTerm::default().get());
        match (self, verb) {
            (Self::TakeoverOfLiveLease, Verb::Claim) => stored.map(|r| unless_settled(r, now)),
            (Self::RenewOfLostLease, Verb::Renew) => stored.map(|r| unless_settled(r, later)),
            (Self::SettleOverwrites, Verb::Settle) => stored.map(|r| leased(r, later)),
            // Every other pair is the shipped verb on what is stored.
            _ => stored,
        }
    }

    /// The fence that a verb compares: the caller's, or by mistake the one that is stored.
    pub(super) fn shown(self, verb: Verb, fence: Fence, stored: Option<Fence>) -> Fence {
        let compares = !matches!(
            (self, verb),
            (
                Self::SettleWithoutFence | Self::SettleOverwrites,
                Verb::Settle
            ) | (Self::ReleaseWithoutFence, Verb::Release)
                | (Self::ResolveWithoutFence, Verb::Resolve)
        );
        stored.filter(|_| !compares).unwrap_or(fence)
    }

    /// Whether a run may begin under a lease that ends at `until` by its owner's knowledge.
    pub(super) fn may_begin(self, now: Timestamp, until: Timestamp) -> bool {
        now < until || self == Self::BeginsAfterLeaseEnded
    }

    /// The fence before the next one: of the store-wide sequence, or by mistake of the record.
    pub(super) fn last_fence(self, granted: Option<Fence>, stored: Option<Fence>) -> Option<Fence> {
        match self == Self::FenceResetByRelease {
            true => stored,
            false => granted,
        }
    }
}

fn unless_settled(record: Record, lease_until: Timestamp) -> Record {
    match record.state {
        State::Running { .. } | State::Unknown { .. } => leased(record, lease_until),
        State::Settled(_) => record,
    }
}

fn leased(record: Record, lease_until: Timestamp) -> Record {
    let state = State::Running { lease_until };
    Record { state, ..record }
}
