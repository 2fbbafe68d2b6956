//! What this process has claimed and not finished.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::Ticket;
use semel_core::{Fence, LeaseTerm};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Every claim in flight, by its fence, which no other claim of the store has.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<Fence, Flight>>);

#[derive(Debug)]
struct Flight {
    ticket: Ticket,
    lease: LeaseTerm,
    /// The lease lasts at least a term from here: when it was last asked for and then given.
    alive_from: Instant,
    lost: oneshot::Sender<()>,
}

/// Hears that a claim is lost.
pub(crate) type Lost = oneshot::Receiver<()>;

impl Flights {
    /// A claim that was asked for at `asked`.
    pub(crate) fn begin(&self, ticket: Ticket, lease: LeaseTerm, asked: Instant) -> Lost {
        let (sender, lost) = oneshot::channel();
        let flight = Flight {
            lease,
            alive_from: asked,
            lost: sender,
            ticket,
        };
        self.all().insert(flight.ticket.fence, flight);
        lost
    }

    /// A claim that is finished or given up.
    pub(crate) fn end(&self, fence: Fence) {
        self.all().remove(&fence);
    }

    /// The claims with this lease that were last renewed so long ago or longer.
    pub(super) fn older(&self, lease: LeaseTerm, age: Duration) -> Vec<Ticket> {
        let all = self.all();
        let due = all
            .values()
            .filter(|flight| flight.lease == lease && flight.alive_from.elapsed() >= age);
        due.map(|flight| flight.ticket.clone()).collect()
    }

    /// A claim was renewed; it was asked for at `asked`.
    pub(super) fn renewed(&self, fence: Fence, asked: Instant) {
        if let Some(flight) = self.all().get_mut(&fence) {
            flight.alive_from = asked;
        }
    }

    /// A claim is somebody else's now: whoever works on it is told.
    pub(super) fn lost(&self, fence: Fence) {
        let lost = self.all().remove(&fence);
        if let Some(flight) = lost {
            // Whoever has just finished need not be told.
            let _ = flight.lost.send(());
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Fence, Flight>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
