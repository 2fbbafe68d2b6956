//! Work that is handed out, kept, and given back by whoever no longer wants it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{BATCH_MAX, Claim, ClaimBatch, Claimed, Job, Step, UnknownPolicy};
use semel_core::{Error, Kind, Result, Timestamp};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::rows::{message_of, small};
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::{digest, fence_of, sql_ms};
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

/// The columns of a claim that stand before the message's own.
const CLAIM_COLUMNS: usize = 10;
/// From so many attempts on it is worth looking whether too many are kept.
const ATTEMPTS_MANY: i64 = 90;

/// Claims for a caller who may go away: what it never hears of is given back.
pub(crate) async fn claim_or_return(engine: Arc<Engine>, ask: ClaimBatch) -> Result<Claimed> {
    let (send, heard) = oneshot::channel();
    // A task of its own, because a statement that is on its way cannot be called back.
    tokio::spawn(async move {
        let claimed = engine.call(&Claiming(&ask)).await;
        if let Err(Ok(claimed)) = send.send(claimed)
            && !claimed.jobs.is_empty()
        {
            // What cannot be given back now is claimable again when its lease ends.
            let claims = claimed.jobs.into_iter().map(|job| job.claim).collect();
            let _ = super::finish::give_back(&engine, &ask.plan.consumer, claims).await;
        }
    });
    let gone = |_| Error::new(Kind::Unavailable, "postgres, a claim was broken off");
    heard.await.map_err(gone)?
}

/// A claim on its way.
struct Claiming<'a>(&'a ClaimBatch);

impl Call for Claiming<'_> {
    type Answer = Claimed;

    const DOING: &'static str = "claiming messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Claimed, Failure> {
        claim(link, engine, self.0).await
    }
}

async fn claim(link: &mut Link, engine: &Engine, ask: &ClaimBatch) -> Result<Claimed, Failure> {
    let sql = &engine.sql.inbox;
    let max = ask.max.min(BATCH_MAX);
    let (mut claimed, mut digests, mut aged) = (Claimed::default(), Vec::new(), Vec::new());
    let mut all = max == 0;
    while !all {
        let want = max - claimed.jobs.len();
        let rows = link.ask_alone(&sql.claim, &claim_values(ask, want)).await?;
        all = rows.len() < want;
        for row in &rows {
            if row.number(2)? > ATTEMPTS_MANY && row.number(9)? != 0 {
                aged.push(row.digest(0)?);
            }
            // A row whose worker was lost may have been parked instead of claimed.
            if row.number(8)? == 0 {
                if row.number(5)? != 0 {
                    digests.push(row.digest(0)?);
                }
                claimed.jobs.push(job_of(row)?);
            }
        }
        all |= claimed.jobs.len() >= max;
    }
    let mut session = Session::new(link, &engine.sql);
    if !aged.is_empty() {
        session.trim_attempts(aged).await?;
    }
    if !digests.is_empty() {
        session.put_steps(digests, &mut claimed.jobs).await?;
    }
    if claimed.jobs.len() < ask.max && max > 0 {
        let params = [Value::text(ask.plan.consumer.to_string())];
        let rows = link.ask_alone(&sql.next_due, &params).await?;
        let wait = rows.first().map_or(Ok(None), |row| row.int(0))?;
        claimed.next_due = wait.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
    }
    Ok(claimed)
}

fn claim_values(ask: &ClaimBatch, max: usize) -> [Value; 5] {
    [
        Value::text(ask.plan.consumer.to_string()),
        Value::int(i64::try_from(max).unwrap_or(i64::MAX)),
        Value::text(ask.worker.as_str()),
        Value::int(sql_ms(ask.lease.get())),
        Value::int(ask.on_unknown == UnknownPolicy::Hold),
    ]
}

fn job_of(row: &Row) -> Result<Job> {
    let (message, received_at) = message_of(row, CLAIM_COLUMNS)?;
    Ok(Job {
        claim: Claim {
            identity: message.identity().clone(),
            fence: fence_of(row.number(1)?),
        },
        message: Arc::new(message),
        attempt: small(row.number(2)?),
        generation: small(row.number(3)?),
        replay: row.number(4)? != 0,
        reclaimed: row.number(9)? != 0,
        received_at,
        first_tried_at: Timestamp::from_millis(row.number(6)?),
        key_generation: 0,
        claimed_at: Timestamp::from_millis(row.number(6)?),
        lease_until: Timestamp::from_millis(row.number(7)?),
        steps: Vec::new(),
    })
}

impl<D: Driver> Session<'_, D> {
    async fn put_steps(&mut self, digests: Vec<Uuid>, jobs: &mut [Job]) -> Result<(), D::Error> {
        let mut steps = self.steps(digests).await?;
        for job in jobs {
            let of = steps.remove(&digest(&job.claim.identity));
            job.steps = of.unwrap_or_default();
        }
        Ok(())
    }

    /// The steps that messages remember, in the order they were done.
    pub(crate) async fn steps(
        &mut self,
        digests: Vec<Uuid>,
    ) -> Result<HashMap<Uuid, Vec<Step>>, D::Error> {
        let params = vec![Value::Uuids(digests)];
        let rows = self.driver.rows(&self.sql.inbox.steps, params).await?;
        let mut steps: HashMap<Uuid, Vec<Step>> = HashMap::new();
        for row in &rows {
            let result = row.bytes(2)?.cloned().unwrap_or_default();
            let step = Step::new(row.word(1)?, result)?;
            steps.entry(row.digest(0)?).or_default().push(step);
        }
        Ok(steps)
    }
}
