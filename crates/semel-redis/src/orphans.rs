//! Grants that nobody will use: the caller went away, or the answer did not come in time. They are given
//! back in the background as soon as the server answers, so that they do not end as unknown. One of which
//! that is already on record, because its lease ended first and somebody asked, is left as it is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::protocol::{self, Change, Standing, Step};
use semel_core::record::Claim;
use semel_core::store::{Actor, ClaimAnswer, Resolution, ResolveRequest};
use semel_core::{Identity, Result};
use tokio::sync::Notify;

use crate::codec::Nonce;
use crate::engine::{Asked, Engine, Loaded};

/// The most grants that wait; beyond it the oldest are left to the end of their lease.
const WAITING_MAX: usize = 65_536;
/// The shortest and the longest pause while the server does not answer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// What waits to be given back.
#[derive(Debug, Default)]
pub(crate) struct GiveBack {
    waiting: Mutex<VecDeque<(Identity, Nonce)>>,
    arrived: Notify,
}

impl GiveBack {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<(Identity, Nonce)>> {
        // The queue is whole after every statement, so a poisoned lock protects nothing.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, claims: impl IntoIterator<Item = (Identity, Nonce)>) {
        let mut waiting = self.waiting();
        waiting.extend(claims);
        let excess = waiting.len().saturating_sub(WAITING_MAX);
        waiting.drain(..excess);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Gives back what waits, for ever.
    pub(crate) async fn run(&self, engine: &Engine) {
        let mut pause = PAUSES.0;
        loop {
            let next = self.waiting().front().cloned();
            let Some((identity, nonce)) = next else {
                self.arrived.notified().await;
                continue;
            };
            match engine.give_back(&identity, nonce).await {
                Err(error) if error.is_retryable() => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                // Done, or never to be: the lease ends by itself.
                Ok(()) | Err(_) => {
                    pause = PAUSES.0;
                    let mut waiting = self.waiting();
                    if waiting.front().is_some_and(|(_, found)| *found == nonce) {
                        waiting.pop_front();
                    }
                }
            }
        }
    }
}

/// Claims on their way: dropped before their caller has the answers, they are given back.
pub(crate) struct OnTheWay {
    claims: Vec<(Identity, Nonce)>,
    give_back: Arc<GiveBack>,
}

impl OnTheWay {
    pub(crate) const fn new(claims: Vec<(Identity, Nonce)>, give_back: Arc<GiveBack>) -> Self {
        Self { claims, give_back }
    }

    /// The caller has the answers. What has none may have been granted all the same, and is given back.
    pub(crate) fn arrived(mut self, answers: &[Result<ClaimAnswer>]) {
        let mut answers = answers.iter();
        self.claims
            .retain(|_| answers.next().is_some_and(Result::is_err));
    }
}

impl Drop for OnTheWay {
    fn drop(&mut self) {
        if !self.claims.is_empty() {
            self.give_back.push(self.claims.drain(..));
        }
    }
}

impl Engine {
    /// Releases the grant with this nonce, if there is one. Nobody has its fence, so nobody has run it.
    async fn give_back(&self, identity: &Identity, nonce: Nonce) -> Result<()> {
        let asked = Asked::until(self.link.deadline());
        self.decide(identity, None, asked, |loaded| {
            give_back_step(loaded, nonce)
        })
        .await
        .map(drop)
    }
}

fn give_back_step(loaded: &Loaded, nonce: Nonce) -> Step<()> {
    let nothing = Step {
        answer: (),
        change: Change::None,
        events: Vec::new(),
    };
    let Some(stored) = loaded
        .stored
        .as_ref()
        .filter(|stored| stored.nonce == nonce)
    else {
        return nothing;
    };
    let record = &stored.record;
    let (change, events) = match Standing::of(Some(record), loaded.now) {
        Standing::Running { .. } => {
            let step = protocol::release(Some(record), record.fence, loaded.now);
            (step.change, step.events)
        }
        Standing::Ended { .. } => {
            let (identity, fence) = (record.identity.clone(), record.fence);
            let request = ResolveRequest {
                claim: Claim { identity, fence },
                by: Actor::new("the store, whose answer was lost").expect("a short name is valid"),
                resolution: Resolution::Release,
            };
            let step = protocol::resolve(Some(record), &request, loaded.now);
            (step.change, step.events)
        }
        // Once it is on record as unknown, somebody may have been told so: what is unknown stays a decision of others.
        Standing::Unknown { .. } | Standing::Absent | Standing::Settled { .. } => return nothing,
    };
    Step {
        answer: (),
        change,
        events,
    }
}
