//! What a caller of the protocol does, one step at a time: the decisions of the shipped driver
//! (`semel_core::once`: its `drive`, `attempt`, `owner`, `lease` and `recording`).
//!
//! A grant comes, and its run waits for its turn in a batch, or for its process to go on, as long as the others
//! like. Before it begins it looks at the clock: under a lease that has ended nothing begins. The grant is given
//! back: it is released, or, if it counts as unknown already, resolved by the word of its owner, who alone knows that
//! nothing ran; then the same caller asks anew. Once begun,
//! a run goes on whatever becomes of its lease, and what it brings is offered until the store takes it or says that
//! the claim is lost: an error of the store changes nothing, and a lost answer is asked for again.
//!
//! What differs from the shipped driver:
//! - The clock that the worker looks at is the store's, and a lease is counted from its grant. The driver counts from
//!   when it asked, by its own monotonic clock, which ends every lease sooner: the model lets more begin.
//! - Leases are renewed at any time or never, not at a third of their term.
//! - No caller loses patience. A duplicate that finds the operation running, and a caller that has asked anew often
//!   enough, is idle, and may claim at any time.

use semel_core::store::{
    ClaimAnswer, MarkAnswer, ReleaseAnswer, RenewAnswer, SettleAnswer, Takeover,
};
use semel_core::{Fence, OnUnknown, Timestamp, Verdict};

use super::config::{Bug, Config};
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
        stage: Stage,
    },
    /// It closed its claim, was answered so, and may do it again.
    Closing {
        fence: Fence,
        last: Last,
        accepted: bool,
    },
    /// Its lease ended before its run began, and it was told that there is nothing left to release.
    GivingBack { fence: Fence },
    /// It no longer offers what its run brought; the shipped driver never does that.
    GaveUp { fence: Fence },
    /// It was told that the outcome of this claim is unknown.
    Wondering { fence: Fence },
    /// The provider told it whether the effect happened.
    Told { fence: Fence, happened: bool },
}

/// How far the run of a claim has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It waits for its turn.
    Waiting,
    /// It has begun. Its effect may be sent at any time, or never.
    Begun,
    /// Its effect is on its way.
    Sent,
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
    Begin,
    GiveBack,
    SendEffect,
    StoreFails,
    Close(Last),
    Crash,
    Ask,
    TakeOver,
    Resolve,
    GiveUp,
}

impl Worker {
    /// The steps that it may take next.
    pub(super) fn moves(&self, store: &Store, ledger: &Ledger, config: &Config) -> Vec<Move> {
        match *self {
            Self::Idle => vec![Move::Claim],
            Self::Owner {
                stage: Stage::Waiting,
                until,
                ..
            } => {
                let next = match config.bug.may_begin(store.now, until) {
                    true => Move::Begin,
                    false => Move::GiveBack,
                };
                vec![Move::Renew, next, Move::Crash]
            }
            Self::Owner {
                stage: Stage::Begun,
                ..
            } => {
                let release = Move::Close(Last::Release);
                vec![Move::Renew, Move::SendEffect, release, Move::Crash]
            }
            Self::Owner { fence, .. } => {
                let mut moves = vec![Move::Renew, Move::Close(Last::MarkUnknown), Move::Crash];
                moves.extend(after_reply(fence, ledger));
                moves.push(Move::StoreFails);
                moves
            }
            Self::GivingBack { .. } => vec![Move::GiveBack, Move::Crash],
            Self::GaveUp { .. } => vec![Move::GiveUp],
            Self::Closing { last, .. } => vec![Move::Close(last), Move::GiveUp],
            Self::Wondering { .. } if !config.provider.can_be_asked() => vec![Move::GiveUp],
            Self::Wondering { .. } => vec![Move::Ask, Move::GiveUp],
            Self::Told { happened: true, .. } => vec![Move::Resolve, Move::GiveUp],
            Self::Told { .. } => vec![Move::TakeOver, Move::Resolve, Move::GiveUp],
        }
    }

    /// The same owner, its run at another stage.
    fn at(mut self, next: Stage) -> Self {
        if let Self::Owner { stage, .. } = &mut self {
            *stage = next;
        }
        self
    }

    /// The same owner with a lease that ends at another time.
    fn until(mut self, next: Timestamp) -> Self {
        if let Self::Owner { until, .. } = &mut self {
            *until = next;
        }
        self
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
            (owner @ Self::Owner { fence, until, .. }, Move::Renew) => match store.renew(fence) {
                RenewAnswer::Renewed(until) => owner.until(until),
                // A run that has begun goes on, and what it brings will be late; another one never begins.
                RenewAnswer::Lost => owner.until(until.min(store.now)),
            },
            (owner @ Self::Owner { fence, .. }, Move::Begin) => {
                ledger.begun_late |= !store.is_live(fence);
                owner.at(Stage::Begun)
            }
            (owner @ Self::Owner { fence, .. }, Move::SendEffect) => {
                ledger.send(fence);
                owner.at(Stage::Sent)
            }
            (Self::Owner { fence, .. }, Move::GiveBack) => match store.release(fence) {
                ReleaseAnswer::Released => Self::Idle,
                ReleaseAnswer::Lost => Self::GivingBack { fence },
            },
            (Self::GivingBack { fence }, Move::GiveBack) => {
                // A refusal means that a newer claim has taken over.
                store.resolve(fence, None);
                Self::Idle
            }
            (Self::Owner { fence, .. }, Move::StoreFails) => {
                match config.bug == Bug::GivesUpItsOutcome {
                    true => Self::GaveUp { fence },
                    false => self,
                }
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
            stage: Stage::Waiting,
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
