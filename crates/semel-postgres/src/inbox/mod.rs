//! The inbox: messages that wait to take effect, over the same records.
//!
//! Read it in this order: `verbs` puts everything behind [`semel_core::Inbox`]; `receive` tells new messages from known ones,
//! `claim` hands work out, `finish` ends it; `lanes` has the order of messages with one key. `inspect` is what people see and
//! `operate` what they do, and `edits` what they make of messages. `wake_ups` wakes other processes, `advance` and `sweep` keep house, `tries` makes a call again that met
//! somebody else's transaction or lost its answer.
//!
//! The happy path writes a message and its work, updates the work when it is claimed, and in one statement deletes it and
//! settles the record. What nobody may claim now is not in the index that claims look at.
//!
//! # In the user's own transaction
//!
//! A handler whose effect is in the same database ends its message in the transaction of the effect: [`finish_in`] settles the
//! record, and stores the intents, if and when the transaction commits.
//!
//! ```no_run
//! use semel_core::inbox::{Finish, Finished, Job, Plan, Disposition};
//! use semel_core::Outcome;
//! use semel_postgres::inbox::finish_in;
//!
//! # async fn pay(client: &mut tokio_postgres::Client, plan: &Plan, job: &Job) -> Result<(), Box<dyn std::error::Error>> {
//! let mut tx = client.transaction().await?;
//! tx.execute("UPDATE account SET cents = cents + 100", &[]).await?;
//! let end = Finish {
//!     claim: job.claim.clone(),
//!     took: std::time::Duration::ZERO,
//!     disposition: Disposition::Completed {
//!         outcome: Outcome::succeeded("paid"),
//!         intents: Vec::new(),
//!     },
//! };
//! match finish_in(&mut tx, plan, &[end]).await?[..] {
//!     [Finished::Done] => tx.commit().await?,
//!     // Somebody else has claimed the message since, and its effect is theirs.
//!     _ => tx.rollback().await?,
//! }
//! # Ok(()) }
//! ```

mod advance;
mod claim;
mod edits;
mod exposed;
mod finish;
mod holding;
mod inspect;
mod lanes;
mod notes;
mod operate;
mod pauses;
mod positions;
mod receive;
mod rows;
mod save;
mod sweep;
mod tries;
mod verbs;
mod wake_ups;

pub(crate) use finish::finish_all;
pub(crate) use sweep::LaneWalk;
pub(crate) use wake_ups::Waking;

use semel_core::Result;
use semel_core::inbox::{Arrivals, Finish, Finished, Plan, Receipt};

use crate::tx::{Driver, usual};

/// [`semel_core::Inbox::finish`] in the user's transaction, on the tables of the usual schema.
///
/// The transaction must be `READ COMMITTED`, which is PostgreSQL's default. What is finished, and the intents of it, become
/// visible when it commits; if it rolls back, the claim is as it was. A late end is written down like any, so a transaction that is
/// rolled back because of it forgets that. Nothing is woken: see [`crate::PostgresStore::wake`].
pub async fn finish_in<D: Driver>(
    tx: &mut D,
    plan: &Plan,
    items: &[Finish],
) -> Result<Vec<Finished>, D::Error> {
    usual().finish(tx, plan, items).await
}

/// [`semel_core::Inbox::receive`] in the user's transaction, on the tables of the usual schema: messages are stored if and when it
/// commits.
///
/// A message that another transaction is receiving or finishing at the same moment is waited for, as long as the user's
/// `lock_timeout` allows.
pub async fn receive_in<D: Driver>(
    tx: &mut D,
    arrivals: &Arrivals,
) -> Result<Vec<Receipt>, D::Error> {
    usual().receive(tx, arrivals).await
}
