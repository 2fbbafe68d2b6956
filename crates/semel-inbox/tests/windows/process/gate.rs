//! The real inbox, with the windows that are between the engine and its store.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{
    Arrivals, Claim, ClaimBatch, Claimed, Counts, Detail, Finish, Finished, Gap, Operation, Page,
    Plan, Query, Receipt, Renewal, Report, State, Step, Taken, WaitingLane, WakeUp,
};
use semel_core::store::{Actor, Answer};
use semel_core::{Identity, Inbox, LeaseTerm, Scope};

use super::{Job, Window};
use crate::workshop::{ID, order};

/// Windows before whose end nobody may claim.
const UNCLAIMED: [Window; 3] = [Window::BeforeClaim, Window::BeforeAck, Window::AfterAck];

#[derive(Debug)]
pub(super) struct Gate {
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) job: Arc<Job>,
}

impl Gate {
    async fn received(&self, arrivals: Arrivals) -> semel_core::Result<Vec<Receipt>> {
        if arrivals.plan.consumer == *order(ID).scope() {
            self.job.reach(Window::BeforeStored);
        }
        let receipts = self.inbox.receive(arrivals).await?;
        if self.job.webhook {
            // The answer is on its way when this returns.
            self.job.reach(Window::BeforeAck);
        }
        Ok(receipts)
    }

    async fn claimed(&self, ask: ClaimBatch) -> semel_core::Result<Claimed> {
        let is_after_effect = self.job.after_effect;
        while self.job.is_for(&UNCLAIMED) && !is_after_effect {
            if self.inbox.message(order(ID)).await?.is_some() {
                self.job.reach(Window::BeforeClaim);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.inbox.claim_batch(ask).await
    }

    async fn finished(&self, plan: Plan, items: Vec<Finish>) -> semel_core::Result<Vec<Finished>> {
        if plan.consumer != *order(ID).scope() {
            self.job.reach(Window::AfterSend);
        }
        self.inbox.finish(plan, items).await
    }
}

macro_rules! inbox {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)+) => {
        impl Inbox for Gate {
            fn receive(&self, arrivals: Arrivals) -> Answer<'_, Vec<Receipt>> {
                Box::pin(self.received(arrivals))
            }

            fn claim_batch(&self, ask: ClaimBatch) -> Answer<'_, Claimed> {
                Box::pin(self.claimed(ask))
            }

            fn finish(&self, plan: Plan, items: Vec<Finish>) -> Answer<'_, Vec<Finished>> {
                Box::pin(self.finished(plan, items))
            }

            fn wake_up(&self, consumer: &Scope) -> WakeUp {
                self.inbox.wake_up(consumer)
            }

            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
                self.inbox.$name($($arg),*)
            })+
        }
    };
}

inbox! {
    take_positions(source: String, partitions: Vec<String>) -> Vec<Taken>;
    renew(claims: Vec<Claim>, lease: LeaseTerm) -> Vec<Renewal>;
    remember_step(claim: Claim, step: Step) -> Renewal;
    advance_lanes(plan: Plan, limit: usize) -> usize;
    list_messages(query: Query) -> Page;
    states(identities: Vec<Identity>) -> Vec<Option<State>>;
    message(identity: Identity) -> Option<Detail>;
    set_paused(consumer: Scope, paused: bool, by: Actor, reason: Option<String>) -> bool;
    gaps(consumer: Scope, limit: usize) -> Vec<Gap>;
    waiting_lanes(consumer: Scope, limit: usize) -> Vec<WaitingLane>;
    counts() -> Vec<Counts>;
    operate(operation: Operation) -> Report;
    expose_processed(view: String) -> ();
}
