//! Looks at an operation without asking for it, and waits while it runs.
//!
//! Waiting is polling: a run of this process wakes those who wait for it, a run elsewhere is looked at again and again with growing
//! pauses. Nothing is claimed here, so a look neither runs anything nor waits for writers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::Once;
use super::answer::Refusal;
use crate::error::{Error, Kind};
use crate::identity::Identity;
use crate::record::{Record, State};
use crate::store::StoreExt;

/// The first and the longest pause between two looks at an operation that runs elsewhere.
pub(super) const LOOK_FIRST: Duration = Duration::from_millis(5);
const LOOK_MAX: Duration = Duration::from_millis(250);
/// The longest that a caller waits, whatever it asks for.
pub(super) const PATIENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl Once {
    /// What is on record about an operation; `None` if it is absent. While it runs, this waits up to `patience` for its end, and what
    /// still runs then, or has too many waiting for it already, comes back as running.
    pub async fn look(
        &self,
        identity: &Identity,
        patience: Duration,
    ) -> crate::Result<Option<Arc<Record>>> {
        let found = self.store().look_up_one(identity.clone()).await?;
        must_be_open(found.as_deref())?;
        if patience.is_zero() || !is_running(found.as_deref()) {
            return Ok(found);
        }
        let ends = Instant::now() + patience.min(PATIENCE_MAX);
        match self.wait(identity, ends, LOOK_FIRST).await {
            Ok(ended) => Ok(ended),
            Err(Refusal::Store(error)) => Err(error),
            Err(_) => Ok(found),
        }
    }

    /// Waits until the operation no longer runs, and says what is on record then; refuses when the caller's patience ends.
    pub(super) async fn wait(
        &self,
        identity: &Identity,
        patience_ends: Instant,
        retry_after: Duration,
    ) -> Result<Option<Arc<Record>>, Refusal> {
        let _place = match &self.places {
            Some(places) if Instant::now() < patience_ends => {
                let busy = Refusal::InProgress { retry_after };
                Some(places.wait(identity.digest(), busy)?)
            }
            _ => None,
        };
        let (mut pause, mut away) = (LOOK_FIRST, None);
        while Instant::now() < patience_ends {
            let next = patience_ends.min(Instant::now() + pause);
            self.woken_or(identity, next).await;
            pause = (pause * 2).min(LOOK_MAX);
            // A store that is away for a moment does not end a wait.
            away = match self.look_by(identity, patience_ends + LOOK_MAX).await {
                Ok(found) if !is_running(found.as_deref()) => {
                    must_be_open(found.as_deref()).map_err(Refusal::Store)?;
                    return Ok(found);
                }
                Ok(_) => None,
                Err(error) => Some(error),
            };
        }
        Err(away.map_or(Refusal::InProgress { retry_after }, Refusal::Store))
    }

    /// Looks at the record; the last look may end a little after the caller's patience.
    async fn look_by(
        &self,
        identity: &Identity,
        deadline: Instant,
    ) -> crate::Result<Option<Arc<Record>>> {
        let looking = self.store().look_up_one(identity.clone());
        timeout_at(deadline, looking).await.unwrap_or_else(|_| {
            let message = "the store did not answer a look-up within the caller's patience";
            Err(Error::new(Kind::Unavailable, message))
        })
    }

    /// Sleeps until `deadline`, or until a run of this process ends.
    async fn woken_or(&self, identity: &Identity, deadline: Instant) {
        let Some(run) = self.shared.waiters.of(identity.digest()) else {
            return sleep_until(deadline).await;
        };
        // Elapsed and woken lead to the same next step: a look at the store.
        let _ = timeout_at(deadline, run.notified()).await;
    }
}

/// Refuses a record whose outcome this process cannot open: what is left of it is no answer for a caller.
pub(super) fn must_be_open(record: Option<&Record>) -> crate::Result<()> {
    match record.map(|record| &record.state) {
        Some(State::Settled(settled)) if settled.outcome.headers.locked().is_some() => {
            let message = "the outcome is sealed, and this process cannot open it";
            Err(Error::new(Kind::Unavailable, message))
        }
        _ => Ok(()),
    }
}

fn is_running(record: Option<&Record>) -> bool {
    record.is_some_and(|record| matches!(record.state, State::Running { .. }))
}
