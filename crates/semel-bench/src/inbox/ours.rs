//! An inbox of Semel as a queue: whole batches are received, claimed and finished.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Arrivals, Cause, ClaimBatch, Disposition, Finish, Finished, Inbox, Job, Plan, Receipt, State,
    UnknownPolicy, WorkerName,
};
use semel_core::{LeaseTerm, Outcome, Result};

use super::letter::Letter;
use crate::baseline::Done;
use crate::baseline::inbox::{CONSUMER, Dealt, Queue};
use crate::prefill::unexpected;

/// The inbox under measurement, asked by one consumer.
#[derive(Debug)]
pub(crate) struct Ours {
    inbox: Arc<dyn Inbox>,
    plan: Plan,
    worker: WorkerName,
}

impl Ours {
    pub(crate) fn new(inbox: Arc<dyn Inbox>) -> Result<Self> {
        Ok(Self {
            inbox,
            plan: Plan::new(CONSUMER.parse()?),
            worker: WorkerName::new("bench")?,
        })
    }

    /// The inbox itself.
    pub(crate) const fn inbox(&self) -> &Arc<dyn Inbox> {
        &self.inbox
    }

    /// Receives letters and parks them as a worker does when it has given up.
    pub(crate) async fn park(&self, letters: &[Letter]) -> Result<()> {
        self.receive_all(letters).await?;
        let mut left = letters.len();
        while left > 0 {
            let parked = self.finish(left, park).await?;
            if parked == 0 {
                return Err(unexpected("a message to claim", &left));
            }
            left -= parked;
        }
        Ok(())
    }

    async fn receive_all(&self, letters: &[Letter]) -> Result<()> {
        let messages = letters
            .iter()
            .map(|letter| letter.message(&self.plan.consumer));
        let arrivals = Arrivals {
            plan: self.plan.clone(),
            messages: messages.collect::<Result<_>>()?,
            positions: Vec::new(),
        };
        let receipts = self.inbox.receive(arrivals).await?;
        let stored = Receipt::Stored {
            state: State::Received,
        };
        match receipts.iter().find(|receipt| **receipt != stored) {
            Some(other) => Err(unexpected("a stored message", other)),
            None => Ok(()),
        }
    }

    /// Claims up to `max` messages and finishes them all alike; how many there were.
    async fn finish(&self, max: usize, disposition: fn() -> Disposition) -> Result<usize> {
        let ask = ClaimBatch {
            plan: self.plan.clone(),
            worker: self.worker.clone(),
            max,
            bytes_max: usize::MAX,
            lease: LeaseTerm::default(),
            on_unknown: UnknownPolicy::Rerun,
        };
        let jobs = self.inbox.claim_batch(ask).await?.jobs;
        if jobs.is_empty() {
            return Ok(0);
        }
        let count = jobs.len();
        let items = jobs.into_iter().map(|Job { claim, .. }| Finish {
            claim,
            took: Duration::from_millis(1),
            disposition: disposition(),
        });
        let finished = self.inbox.finish(self.plan.clone(), items.collect());
        match finished.await?.contains(&Finished::Lost) {
            true => Err(unexpected("a finished message", &Finished::Lost)),
            false => Ok(count),
        }
    }
}

impl Queue for Ours {
    fn name(&self) -> &str {
        "the inbox"
    }

    fn receive(&self, letters: Vec<Letter>) -> Done<'_> {
        Box::pin(async move { self.receive_all(&letters).await })
    }

    fn deal(&self, max: usize) -> Dealt<'_> {
        Box::pin(self.finish(max, complete))
    }
}

fn complete() -> Disposition {
    Disposition::Completed {
        outcome: Outcome::succeeded(""),
        intents: Vec::new(),
    }
}

fn park() -> Disposition {
    Disposition::Park {
        cause: Cause::AttemptsExhausted,
        error: ErrorText::new("the provider refused it"),
    }
}
