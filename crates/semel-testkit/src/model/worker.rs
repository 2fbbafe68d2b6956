//! What a caller of the protocol does, one step at a time.
//!
//! Between any two steps a worker may be paused for as long as the others like; it does not look at the
//! clock, so it goes on with an ended lease as if nothing had happened. The answer to any
//! closing verb may be lost: the worker then sends the same again.

use semel_core::store::{
    ClaimAnswer, MarkAnswer, ReleaseAnswer, RenewAnswer, SettleAnswer, Takeover,
};
use semel_core::{Fence, OnUnknown, Timestamp, Verdict};

use super::config::Config;
use super::ledger::{Ledger, Reply};
use super::mirror::Brought;
use super::store::Store;

/// Where a worker stands, by its own knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Worker {
    /// It knows nothing: it is fresh, gave up, or came back from a crash.
    Idle,
    /// It was granted a claim and has not closed it.
    Owner {
        fence: Fence,
        until: Timestamp,
        sent: bool,
    },
    /// It closed its claim, was answered so, and may do it again.
    Closing {
        fence: Fence,
        last: Last,
        accepted: bool,
    },
    /// It was told that the outcome of this claim is unknown.
    Wondering { fence: Fence },
    /// The provider told it whether the effect happened.
    Told { fence: Fence, happened: bool },
}

/// The verb that closes a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Last {
    Settle(Brought),
    Release,
    MarkUnknown,
}

/// A step of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Claim,
    Renew,
    SendEffect,
    Close(Last),
    Crash,
    Ask,
    TakeOver,
    Resolve,
    GiveUp,
}

impl Worker {
    /// The steps that it may take next.
    pub(super) fn moves(&self, ledger: &Ledger, config: &Config) -> Vec<Move> {
        match *self {
            Self::Idle => vec![Move::Claim],
            Self::Owner { sent: false, .. } => {
                let release = Move::Close(Last::Release);
                vec![Move::Renew, Move::SendEffect, release, Move::Crash]
            }
            Self::Owner { fence, .. } => {
                let mut moves = vec![Move::Renew, Move::Close(Last::MarkUnknown), Move::Crash];
                moves.extend(after_reply(fence, ledger));
                moves
            }
            Self::Closing { last, .. } => vec![Move::Close(last), Move::GiveUp],
            Self::Wondering { .. } if !config.provider.can_be_asked() => vec![Move::GiveUp],
            Self::Wondering { .. } => vec![Move::Ask, Move::GiveUp],
            Self::Told { happened: true, .. } => vec![Move::Resolve, Move::GiveUp],
            Self::Told { .. } => vec![Move::TakeOver, Move::Resolve, Move::GiveUp],
        }
    }

    /// The worker after a step.
    pub(super) fn step(
        self,
        step: Move,
        store: &mut Store,
        ledger: &mut Ledger,
        config: &Config,
    ) -> Self {
        match (self, step) {
            (Self::Idle, Move::Claim) => {
                after_claim(store.claim(first_takeover(config.policy)), config.policy)
            }
            (Self::Told { fence, .. }, Move::TakeOver) => {
                after_claim(store.claim(Takeover::Of(fence)), config.policy)
            }
            (Self::Owner { fence, until, sent }, Move::Renew) => {
                let until = match store.renew(fence) {
                    RenewAnswer::Renewed(until) => until,
                    // A run that has begun goes on: what it brings will be late.
                    RenewAnswer::Lost => until,
                };
                Self::Owner { fence, until, sent }
            }
            (Self::Owner { fence, until, .. }, Move::SendEffect) => {
                ledger.send(fence);
                let sent = true;
                Self::Owner { fence, until, sent }
            }
            (Self::Owner { fence, .. } | Self::Closing { fence, .. }, Move::Close(last)) => {
                close(fence, last, store)
            }
            (Self::Wondering { fence }, Move::Ask) => {
                let happened = ledger.ask(fence, config.provider);
                Self::Told { fence, happened }
            }
            (Self::Told { fence, happened }, Move::Resolve) => {
                let verdict = Verdict::Succeeded;
                let brought = Brought { verdict, by: fence };
                store.resolve(fence, happened.then_some(brought));
                // It stays as it is: the answer may be lost, and it then resolves again.
                self
            }
            (_, Move::Crash | Move::GiveUp) => Self::Idle,
            (worker, step) => unreachable!("{worker:?} was never offered {step:?}"),
        }
    }
}

/// What the reply of the provider lets an owner do.
fn after_reply(fence: Fence, ledger: &Ledger) -> Vec<Move> {
    let settle = |verdict| Move::Close(Last::Settle(Brought { verdict, by: fence }));
    match ledger.reply_to(fence) {
        None => vec![],
        Some(Reply::Done | Reply::DoneBefore) => vec![settle(Verdict::Succeeded)],
        // Nothing happened, so by its policy a worker keeps the failure or gives the claim back.
        Some(Reply::Refused) => vec![settle(Verdict::Failed), Move::Close(Last::Release)],
    }
}

/// What the first claim of a worker may do about an unknown outcome.
fn first_takeover(policy: OnUnknown) -> Takeover {
    match policy {
        OnUnknown::Hold | OnUnknown::Reconcile => Takeover::Never,
        OnUnknown::Rerun => Takeover::Allowed,
    }
}

fn after_claim(answer: ClaimAnswer, policy: OnUnknown) -> Worker {
    match answer {
        ClaimAnswer::Granted(lease) => Worker::Owner {
            fence: lease.claim.fence,
            until: lease.until,
            sent: false,
        },
        ClaimAnswer::Unknown { fence, .. } if policy == OnUnknown::Reconcile => {
            Worker::Wondering { fence }
        }
        ClaimAnswer::Unknown { .. } | ClaimAnswer::Running { .. } | ClaimAnswer::Settled(_) => {
            Worker::Idle
        }
        ClaimAnswer::Mismatch => unreachable!("the model has one fingerprint"),
    }
}

fn close(fence: Fence, last: Last, store: &mut Store) -> Worker {
    let accepted = match last {
        Last::Settle(brought) => store.settle(fence, brought) == SettleAnswer::Settled,
        Last::Release => store.release(fence) == ReleaseAnswer::Released,
        Last::MarkUnknown => store.mark_unknown(fence) == MarkAnswer::Marked,
    };
    Worker::Closing {
        fence,
        last,
        accepted,
    }
}
