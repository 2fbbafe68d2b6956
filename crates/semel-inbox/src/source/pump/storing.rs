//! Stores what was delivered, and acknowledges what can be.

use std::collections::BTreeMap;

use semel_core::inbox::{BATCH_MAX, Message, Progress, Receipt};
use semel_core::{Error, Kind, Result, Tenant};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::super::held::Arrival;
use super::super::keeper::Kept;
use super::super::open::Ref;
use super::super::status::SourceState;
use super::{PAUSE, Pump};
use crate::engine::is_settled;
use crate::pause;
use crate::trace;

/// What became of messages that were offered to the store.
enum Offered {
    Stored,
    /// Some of them cannot be stored now, while others could.
    Refused(Error),
}

impl Pump {
    /// Stores messages however long that takes, the position with the last of them; fails only if another process reads the source now.
    ///
    /// Those of a tenant whose contents cannot be sealed now have no receipt afterwards. Where a position is kept in the store, it waits for them instead:
    /// nothing is delivered again from before it.
    pub(super) async fn store(
        &self,
        arrivals: &mut [Arrival],
        positions: &[Progress],
    ) -> Result<()> {
        // What comes of a tenant that waits must not overtake what waits.
        let mut waiting = self.held.tenants();
        // Deliveries may hold several messages each, so that there are more than one call takes.
        let mut parts: Vec<&mut [Arrival]> = arrivals.chunks_mut(BATCH_MAX).collect();
        if parts.is_empty() {
            parts.push(&mut []);
        }
        let last = parts.len() - 1;
        for (at, part) in parts.into_iter().enumerate() {
            let positions = match at == last {
                true => positions,
                false => &[],
            };
            let part = part.iter_mut();
            let mut part: Vec<_> = part.filter(|one| !waiting.contains(one.tenant())).collect();
            let left = self.store_part(&mut part, positions).await?;
            waiting.extend(left);
        }
        Ok(())
    }

    /// Stores what can be stored; the tenants of the rest, unless there is a position, which waits for all.
    async fn store_part(
        &self,
        part: &mut [&mut Arrival],
        positions: &[Progress],
    ) -> Result<Vec<Tenant>> {
        let Offered::Refused(why) = self.offer(part, positions, false).await? else {
            return Ok(Vec::new());
        };
        // Each tenant's by themselves, in their order.
        let mut tenants: BTreeMap<Tenant, Vec<&mut Arrival>> = BTreeMap::new();
        for one in part {
            tenants.entry(one.tenant().clone()).or_default().push(one);
        }
        let mut left = Vec::new();
        for (tenant, mut all) in tenants {
            if let Offered::Refused(why) = self.offer(&mut all, &[], false).await? {
                self.warn_of(&tenant, &why);
                left.push((tenant, all));
            }
        }
        if positions.is_empty() {
            return Ok(left.into_iter().map(|(tenant, _)| tenant).collect());
        }
        let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
        tracing::warn!(source, %consumer, %why, "the position of a source waits until all before it is stored");
        for (_, mut all) in left {
            self.offer(&mut all, &[], true).await?;
        }
        self.offer(&mut [], positions, true).await?;
        Ok(Vec::new())
    }

    /// Offers messages until the store answers; with `must` also until each of them can be sealed.
    async fn offer(
        &self,
        part: &mut [&mut Arrival],
        positions: &[Progress],
        must: bool,
    ) -> Result<Offered> {
        if part.is_empty() && positions.is_empty() {
            return Ok(Offered::Stored);
        }
        let messages: Vec<Message> = part.iter().map(|one| one.message.clone()).collect();
        let stored = "deliveries cannot be stored, nothing is acknowledged";
        let received = self.insist(stored, SourceState::StoreAway, || {
            let (messages, positions) = (messages.clone(), positions.to_vec());
            Box::pin(async move {
                match self.receiver.receive_to(messages, positions).await {
                    Err(error) if error.kind() == Kind::Fenced => Ok(Err(error)),
                    Err(error) if error.is_about_an_item() && !must => Ok(Ok(Err(error))),
                    received => received.map(|receipts| Ok(Ok(receipts))),
                }
            })
        });
        let receipts = match received.await? {
            Ok(receipts) => receipts,
            Err(why) => return Ok(Offered::Refused(why)),
        };
        self.trace(&messages, &receipts);
        for (one, receipt) in part.iter_mut().zip(receipts) {
            one.receipt = Some(receipt);
        }
        Ok(Offered::Stored)
    }

    /// Answers the deliveries whose messages are stored, and holds the others.
    pub(super) async fn deal_with(
        &self,
        arrivals: Vec<Arrival>,
        keep: &mpsc::UnboundedSender<Kept>,
    ) {
        let mut deliveries: BTreeMap<Ref, Vec<Arrival>> = BTreeMap::new();
        for one in arrivals {
            deliveries.entry(one.open).or_default().push(one);
        }
        let mut done = Vec::new();
        for (open, arrivals) in deliveries {
            match must_wait(&arrivals) {
                None => self.held.hold(open, arrivals),
                Some(false) => done.push(open),
                Some(true) => {
                    let waits = arrivals.into_iter().filter(|one| !is_at_rest(one.receipt));
                    let waiters = waits.filter_map(|one| one.waiter).collect();
                    // Without a keeper the engine is stopping, and gives it back.
                    drop(keep.send(Kept { open, waiters }));
                }
            }
        }
        self.open.ack(&done).await;
    }

    /// Offers what waits again, for ever.
    pub(super) async fn offer_held(&self, keep: &mpsc::UnboundedSender<Kept>) {
        let mut wait = PAUSE;
        loop {
            self.held.is_waiting(true).await;
            sleep(wait).await;
            wait = match self.offer_held_once(keep).await {
                true => PAUSE,
                false => pause::longer(wait),
            };
        }
    }

    /// Offers what waits once, each tenant's by themselves; whether any of it is stored now.
    async fn offer_held_once(&self, keep: &mpsc::UnboundedSender<Kept>) -> bool {
        self.forget_lost();
        let (mut any, mut refused) = (false, None);
        for (places, messages) in self.held.due() {
            match self.receiver.receive_all(messages.clone()).await {
                Ok(receipts) => {
                    self.trace(&messages, &receipts);
                    let stored = self.held.stored(&places, &receipts);
                    self.deal_with(stored, keep).await;
                    any = true;
                }
                Err(why) => refused = Some(why),
            }
        }
        if let Some(why) = refused {
            let waiting = self.held.explain(&why);
            let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
            tracing::warn!(source, %consumer, "{waiting}");
        }
        any
    }

    /// What is lost comes again, and is not held any more.
    pub(super) fn forget_lost(&self) {
        self.held.forget(|open| self.open.since(open).is_some());
    }

    fn warn_of(&self, tenant: &Tenant, why: &Error) {
        let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
        tracing::warn!(source, %consumer, %tenant, error = %why, "messages of a tenant cannot be stored; their deliveries stay open");
    }

    fn trace(&self, messages: &[Message], receipts: &[Receipt]) {
        for (message, receipt) in messages.iter().zip(receipts) {
            trace::delivered_again(&self.active.shared.tracer, message, *receipt);
        }
    }
}

/// Whether anything must happen before a delivery is acknowledged; `None` while a message of it is not stored.
fn must_wait(arrivals: &[Arrival]) -> Option<bool> {
    let is_stored = arrivals.iter().all(|one| one.receipt.is_some());
    let waits = |one: &Arrival| one.waiter.is_some() && !is_at_rest(one.receipt);
    is_stored.then(|| arrivals.iter().any(waits))
}

/// Whether nothing more need happen before a delivery is acknowledged: its message is dealt with, or kept among the dead letters.
const fn is_at_rest(receipt: Option<Receipt>) -> bool {
    match receipt {
        Some(Receipt::Stored { state } | Receipt::Duplicate { state, .. }) => is_settled(state),
        Some(Receipt::Conflict) => true,
        None => false,
    }
}
