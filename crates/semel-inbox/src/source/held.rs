//! Deliveries that wait, because a message of theirs cannot be stored while those of others can: the contents of a tenant whose key is missing.
//!
//! They stay open and are offered again, so that nothing is acknowledged that is not stored. What comes of such a tenant meanwhile joins them, so that a
//! tenant's messages are stored in the order in which they were delivered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use semel_core::inbox::{BATCH_MAX, Message, Receipt};
use semel_core::{Error, Tenant};
use tokio::sync::watch;

use super::open::{OPEN_MAX, Ref};
use super::status::Status;
use crate::engine::Waiter;

/// How many deliveries may wait before nothing more is read: the others keep half of what may be open.
pub(super) const HELD_MAX: usize = OPEN_MAX / 2;
/// How many bytes of payloads may wait before nothing more is read.
const BYTES_MAX: usize = 32 * 1024 * 1024;

/// A message on its way into the store.
pub(super) struct Arrival {
    /// Its delivery.
    pub(super) open: Ref,
    pub(super) message: Message,
    /// What waits for it, if its delivery is kept open until the effect.
    pub(super) waiter: Option<Waiter>,
    /// What became of it, when it is stored.
    pub(super) receipt: Option<Receipt>,
}

impl Arrival {
    pub(super) fn tenant(&self) -> &Tenant {
        self.message.identity().tenant()
    }

    const fn waits(&self) -> bool {
        self.receipt.is_none()
    }
}

/// A message that waits: its delivery, and its place in it.
pub(super) type Place = (Ref, usize);

/// What waits at one source.
pub(super) struct Held {
    /// Whole deliveries, in their order.
    deliveries: Mutex<BTreeMap<Ref, Vec<Arrival>>>,
    status: Arc<Status>,
    /// How many deliveries wait, and whether that is all that may.
    filled: watch::Sender<(usize, bool)>,
}

impl Held {
    pub(super) fn new(status: Arc<Status>) -> Self {
        Self {
            deliveries: Mutex::default(),
            status,
            filled: watch::Sender::default(),
        }
    }

    /// Whether so much waits that nothing more may be read.
    pub(super) fn is_full(&self) -> bool {
        self.filled.borrow().1
    }

    /// Waits until more may be read.
    pub(super) async fn has_room(&self) {
        // The sender is here, so this cannot fail.
        let _ = self.filled.subscribe().wait_for(|(_, full)| !full).await;
    }

    /// Waits until something waits, or until nothing does.
    pub(super) async fn is_waiting(&self, waits: bool) {
        let mut filled = self.filled.subscribe();
        let _ = filled.wait_for(|(count, _)| (*count > 0) == waits).await;
    }

    /// The tenants whose messages wait.
    pub(super) fn tenants(&self) -> BTreeSet<Tenant> {
        let deliveries = self.deliveries();
        let waiting = deliveries.values().flatten().filter(|one| one.waits());
        waiting.map(|one| one.tenant().clone()).collect()
    }

    /// A delivery waits until all of its messages are stored.
    pub(super) fn hold(&self, open: Ref, arrivals: Vec<Arrival>) {
        let mut deliveries = self.deliveries();
        deliveries.insert(open, arrivals);
        self.count(&deliveries);
    }

    /// What is to be offered again: of each tenant as much as one call takes, in its order.
    pub(super) fn due(&self) -> Vec<(Vec<Place>, Vec<Message>)> {
        let mut due: HashMap<Tenant, (Vec<Place>, Vec<Message>)> = HashMap::new();
        for (open, arrivals) in self.deliveries().iter() {
            let waiting = arrivals.iter().enumerate().filter(|(_, one)| one.waits());
            for (at, one) in waiting {
                let (places, messages) = due.entry(one.tenant().clone()).or_default();
                if places.len() < BATCH_MAX {
                    places.push((*open, at));
                    messages.push(one.message.clone());
                }
            }
        }
        due.into_values().collect()
    }

    /// These are stored; all of the messages of the deliveries that wait no longer.
    pub(super) fn stored(&self, places: &[Place], receipts: &[Receipt]) -> Vec<Arrival> {
        let mut deliveries = self.deliveries();
        for ((open, at), receipt) in places.iter().zip(receipts) {
            // One that was lost meanwhile is gone.
            if let Some(one) = deliveries.get_mut(open).and_then(|all| all.get_mut(*at)) {
                one.receipt = Some(*receipt);
            }
        }
        let is_done = |_: &Ref, all: &mut Vec<Arrival>| !all.iter().any(Arrival::waits);
        let done: BTreeMap<_, _> = deliveries.extract_if(.., is_done).collect();
        self.count(&deliveries);
        done.into_values().flatten().collect()
    }

    /// Forgets the deliveries that are not open any more: they come again.
    pub(super) fn forget(&self, is_open: impl Fn(Ref) -> bool) {
        let mut deliveries = self.deliveries();
        deliveries.retain(|open, _| is_open(*open));
        self.count(&deliveries);
    }

    /// What waits and why, which operators see from now on.
    pub(super) fn explain(&self, why: &Error) -> String {
        let (waiting, tenants) = (self.filled.borrow().0, self.tenants());
        let of = match (tenants.first(), tenants.len()) {
            (Some(tenant), 1) => format!("tenant {tenant}"),
            (Some(tenant), more) => format!("{more} tenants, {tenant} among them,"),
            (None, _) => "no tenant".to_owned(),
        };
        let text = format!(
            "{waiting} deliveries of {of} cannot be stored, stay open and are offered again: {why}"
        );
        self.status.waits((waiting > 0).then(|| text.clone()));
        text
    }

    fn count(&self, deliveries: &BTreeMap<Ref, Vec<Arrival>>) {
        let count = deliveries.len();
        let all = deliveries.values().flatten();
        let bytes: usize = all.map(|one| one.message.payload().len()).sum();
        let is_full = count >= HELD_MAX || bytes >= BYTES_MAX;
        if count == 0 {
            self.status.waits(None);
        }
        self.filled.send_replace((count, is_full));
    }

    fn deliveries(&self) -> MutexGuard<'_, BTreeMap<Ref, Vec<Arrival>>> {
        // What a panic left half done is at worst offered again, and then a duplicate.
        self.deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
