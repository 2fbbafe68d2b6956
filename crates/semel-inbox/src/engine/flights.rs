//! What this process has claimed and not finished.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::Claim;
use semel_core::{Clock, Digest, LeaseTerm};
use tokio::sync::oneshot;

use super::moment::Moment;

/// Every claim in flight, one per message.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<Digest, Flight>>);

#[derive(Debug)]
struct Flight {
    claim: Claim,
    lease: LeaseTerm,
    /// The lease lasts at least a term from here: when it was last asked for and then given.
    alive_from: Moment,
    lost: oneshot::Sender<()>,
}

/// Hears that a claim is lost.
pub(crate) type Lost = oneshot::Receiver<()>;

impl Flights {
    /// A claim that was asked for at `asked`. An older claim of the same message is lost with it: its lease has ended, and here nobody
    /// need wait for the store to say so.
    pub(crate) fn begin(&self, claim: Claim, lease: LeaseTerm, asked: Moment) -> Lost {
        let (sender, lost) = oneshot::channel();
        let flight = Flight {
            lease,
            alive_from: asked,
            lost: sender,
            claim,
        };
        let digest = flight.claim.identity.digest();
        if let Some(older) = self.all().insert(digest, flight) {
            // Whoever has just finished need not be told.
            let _ = older.lost.send(());
        }
        lost
    }

    /// A claim that is finished or given up.
    pub(crate) fn end(&self, claim: &Claim) {
        self.take(claim);
    }

    /// The claims with this lease that were last renewed so long ago or longer.
    pub(super) fn older(&self, lease: LeaseTerm, age: Duration) -> Vec<Claim> {
        let all = self.all();
        let due = all
            .values()
            .filter(|flight| flight.lease == lease && flight.alive_from.steady.elapsed() >= age);
        due.map(|flight| flight.claim.clone()).collect()
    }

    /// A claim was renewed; it was asked for at `asked`.
    pub(super) fn renewed(&self, claim: &Claim, asked: Moment) {
        let mut all = self.all();
        let flight = all.get_mut(&claim.identity.digest());
        if let Some(flight) = flight.filter(|flight| flight.claim.fence == claim.fence) {
            flight.alive_from = asked;
        }
    }

    /// Whether something may begin under this claim now: its lease has not ended, as far as this process can tell. A process that stood still, because it
    /// was stopped, swapped out or its machine suspended, must ask this right before it begins.
    pub(super) fn may_begin(&self, claim: &Claim, clock: &dyn Clock) -> bool {
        let all = self.all();
        let flight = all.get(&claim.identity.digest());
        flight.is_some_and(|flight| {
            let elapsed = flight.alive_from.elapsed_with_suspend(clock);
            flight.claim.fence == claim.fence && elapsed < flight.lease.get()
        })
    }

    /// A claim is somebody else's now: whoever works on it is told.
    pub(super) fn lost(&self, claim: &Claim) {
        if let Some(flight) = self.take(claim) {
            let _ = flight.lost.send(());
        }
    }

    /// Takes out this claim, but no newer one of the same message.
    fn take(&self, claim: &Claim) -> Option<Flight> {
        let (mut all, digest) = (self.all(), claim.identity.digest());
        match all.get(&digest)?.claim.fence == claim.fence {
            true => all.remove(&digest),
            false => None,
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Digest, Flight>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::{Fence, Identity, ManualClock, SystemClock, Timestamp};

    fn claim(fence: u64) -> Claim {
        Claim {
            identity: Identity::parse("public", "mailer", "1").unwrap(),
            fence: Fence::new(fence),
        }
    }

    #[tokio::test]
    async fn a_newer_claim_of_the_same_message_ends_the_older_one_and_not_the_other_way_round() {
        let (flights, lease) = (Flights::default(), LeaseTerm::default());
        let now = || Moment::now(&SystemClock::new());
        let older = flights.begin(claim(1), lease, now());
        let mut newer = flights.begin(claim(2), lease, now());
        assert!(older.await.is_ok());
        flights.lost(&claim(1));
        flights.end(&claim(1));
        assert!(newer.try_recv().is_err());
        assert_eq!(flights.older(lease, Duration::ZERO), [claim(2)]);
        flights.lost(&claim(2));
        assert!(newer.await.is_ok());
        assert!(flights.older(lease, Duration::ZERO).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_under_a_lease_that_has_ended_by_either_clock() {
        let (flights, lease) = (Flights::default(), LeaseTerm::default());
        let clock = ManualClock::at(Timestamp::from_millis(0));
        let _lost = flights.begin(claim(1), lease, Moment::now(&clock));
        assert!(flights.may_begin(&claim(1), &clock));
        assert!(!flights.may_begin(&claim(2), &clock));
        // Stopped: both clocks have gone on.
        tokio::time::advance(lease.get()).await;
        assert!(!flights.may_begin(&claim(1), &clock));
        flights.renewed(&claim(1), Moment::now(&clock));
        assert!(flights.may_begin(&claim(1), &clock));
        // Suspended: only the wall clock has.
        clock.advance(lease.get());
        assert!(!flights.may_begin(&claim(1), &clock));
        // A wall clock that was set back says nothing.
        flights.renewed(&claim(1), Moment::now(&clock));
        clock.set(Timestamp::from_millis(0));
        assert!(flights.may_begin(&claim(1), &clock));
    }
}
