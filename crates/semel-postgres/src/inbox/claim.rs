//! Work that is handed out, kept, and given back by whoever no longer wants it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use semel_core::inbox::lanes::Event;
use semel_core::inbox::{
    BATCH_MAX, Cause, Claim, ClaimBatch, Claimed, Job, Plan, State, Step, UnknownPolicy,
};
use semel_core::store::remote::Nonce;
use semel_core::{Error, Kind, Result, Timestamp};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::notes::Transition;
use super::rows::{Work, identity_of, message_of, small};
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::{digest, fence_of, sql_ms};
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

/// The columns of a claim that stand before the message's own.
const CLAIM_COLUMNS: usize = 14;
/// From so many attempts on it is worth looking whether too many are kept.
const ATTEMPTS_MANY: i64 = 90;

/// Claims for a caller who may go away: what it never hears of is given back.
pub(crate) async fn claim_or_return(engine: Arc<Engine>, ask: ClaimBatch) -> Result<Claimed> {
    let (send, heard) = oneshot::channel();
    // A task of its own, because a statement that is on its way cannot be called back.
    tokio::spawn(async move {
        let claiming = Claiming {
            ask: &ask,
            nonce: Nonce::fresh().to_i64(),
            is_again: AtomicBool::new(false),
        };
        let claimed = engine.call(&claiming).await;
        if let Err(Ok(claimed)) = send.send(claimed)
            && !claimed.jobs.is_empty()
        {
            // What cannot be given back now is claimable again when its lease ends.
            let claims = claimed.jobs.into_iter().map(|job| job.claim).collect();
            let _ = super::finish::give_back(&engine, &ask.plan, claims).await;
        }
    });
    let gone = |_| Error::new(Kind::Unavailable, "postgres, a claim was broken off");
    heard.await.map_err(gone)?
}

/// A claim on its way, with a mark by which a call that is made again finds what the one before it claimed.
struct Claiming<'a> {
    ask: &'a ClaimBatch,
    nonce: i64,
    is_again: AtomicBool,
}

impl Call for Claiming<'_> {
    type Answer = Claimed;

    const DOING: &'static str = "claiming messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Claimed, Failure> {
        if self.is_again.swap(true, Ordering::Relaxed) {
            let claimed = self.claimed_before(engine, link).await?;
            if !claimed.jobs.is_empty() {
                return Ok(claimed);
            }
        }
        self.claim(engine, link).await
    }
}

/// Messages that are due and are not handed out.
#[derive(Default)]
struct Passed {
    /// Their workers were lost, and they are held.
    held: Vec<Uuid>,
    /// Another door settled them.
    settled: Vec<Uuid>,
    /// Their contents were erased: nothing is left that could run.
    erased: Vec<Uuid>,
}

impl Passed {
    fn all(&self) -> impl Iterator<Item = Uuid> {
        let all = [&self.held, &self.settled, &self.erased];
        all.into_iter().flatten().copied()
    }

    /// Why a message that is due is passed over, if it is.
    fn cause(&self, work: &Work) -> Option<Cause> {
        if self.erased.contains(&work.digest) {
            return Some(Cause::Operator);
        }
        let is_settled = self.settled.contains(&work.digest) && !work.replay;
        is_settled.then_some(Cause::SettledElsewhere)
    }
}

/// What the rows of a claim came to.
#[derive(Default)]
struct Found {
    claimed: Claimed,
    /// Messages that remember steps.
    stepped: Vec<Uuid>,
    /// Messages with so many attempts that too many may be kept.
    aged: Vec<Uuid>,
    /// Messages whose lanes hear of them.
    passed: Passed,
}

impl Found {
    fn add(&mut self, row: &Row) -> Result<()> {
        let digest = row.digest(0)?;
        let passed = match row.number(10)? {
            0 => None,
            1 => Some(&mut self.passed.settled),
            _ => Some(&mut self.passed.erased),
        };
        if let Some(passed) = passed {
            passed.push(digest);
            self.claimed.settled.push(identity_of(row, CLAIM_COLUMNS)?);
            return Ok(());
        }
        if row.number(2)? > ATTEMPTS_MANY && row.number(9)? != 0 {
            self.aged.push(digest);
        }
        if row.number(8)? != 0 {
            if row.number(11)? != 0 {
                self.passed.held.push(digest);
            }
            return Ok(());
        }
        if row.number(5)? != 0 {
            self.stepped.push(digest);
        }
        self.claimed.jobs.push(job_of(row)?);
        Ok(())
    }
}

impl Claiming<'_> {
    async fn claim(&self, engine: &Engine, link: &mut Link) -> Result<Claimed, Failure> {
        let (sql, ask) = (&engine.sql.inbox, self.ask);
        let max = ask.max.min(BATCH_MAX);
        let mut found = Found::default();
        let mut all = max == 0;
        while !all {
            let want = max - found.claimed.jobs.len();
            let before = found.claimed.jobs.len();
            let rows = link.ask_alone(&sql.claim, &self.values(want)).await?;
            for row in &rows {
                found.add(row)?;
            }
            let gained = found.claimed.jobs.len() - before;
            self.tell_lanes(engine, link, &mut found).await?;
            // Only what was held or settled leaves room for others.
            all = rows.len() < want || gained == rows.len() || found.claimed.jobs.len() >= max;
        }
        let mut session = Session::new(link, &engine.sql);
        if !found.aged.is_empty() {
            session.trim_attempts(found.aged).await?;
        }
        let mut claimed = found.claimed;
        if !found.stepped.is_empty() {
            session.put_steps(found.stepped, &mut claimed.jobs).await?;
        }
        session.put_edits(&mut claimed.jobs).await?;
        if claimed.jobs.len() < ask.max && max > 0 {
            self.look_ahead(engine, link, &mut claimed).await?;
        }
        Ok(claimed)
    }

    /// When the next one is due, and whether the consumer is paused.
    async fn look_ahead(
        &self,
        engine: &Engine,
        link: &mut Link,
        claimed: &mut Claimed,
    ) -> Result<(), Failure> {
        let (sql, params) = (&engine.sql.inbox, [self.consumer()]);
        if claimed.jobs.is_empty() {
            let paused = link.ask_alone(&sql.is_paused, &params).await?;
            claimed.paused = !paused.is_empty();
        }
        if !claimed.paused {
            let rows = link.ask_alone(&sql.next_due, &params).await?;
            let wait = rows.first().map_or(Ok(None), |row| row.int(0))?;
            claimed.next_due = wait.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
        }
        Ok(())
    }

    /// What a call of before has claimed, whose answer was lost.
    async fn claimed_before(&self, engine: &Engine, link: &mut Link) -> Result<Claimed, Failure> {
        let params = [
            self.consumer(),
            Value::int(self.nonce),
            Value::text(self.ask.worker.as_str()),
        ];
        let rows = link.ask_alone(&engine.sql.inbox.claimed, &params).await?;
        let mut found = Found::default();
        for row in &rows {
            found.add(row)?;
        }
        let mut claimed = found.claimed;
        let mut session = Session::new(link, &engine.sql);
        if !found.stepped.is_empty() {
            session.put_steps(found.stepped, &mut claimed.jobs).await?;
        }
        session.put_edits(&mut claimed.jobs).await?;
        Ok(claimed)
    }

    /// Lets lanes go on, or stop, because of what was held or was settled elsewhere.
    async fn tell_lanes(
        &self,
        engine: &Engine,
        link: &mut Link,
        found: &mut Found,
    ) -> Result<(), Failure> {
        let passed = std::mem::take(&mut found.passed);
        if passed.all().next().is_none() {
            return Ok(());
        }
        link.begin_patiently().await?;
        let mut session = Session::new(link, &engine.sql);
        let told = session.tell_lanes(&self.ask.plan, &passed).await;
        link.end(told).await
    }

    fn consumer(&self) -> Value {
        Value::text(self.ask.plan.consumer.to_string())
    }

    fn values(&self, max: usize) -> [Value; 7] {
        let ask = self.ask;
        [
            self.consumer(),
            Value::int(i64::try_from(max).unwrap_or(i64::MAX)),
            Value::text(ask.worker.as_str()),
            Value::int(sql_ms(ask.lease.get())),
            Value::int(ask.on_unknown == UnknownPolicy::Hold),
            Value::int(self.nonce),
            Value::int(i64::try_from(ask.bytes_max).unwrap_or(i64::MAX)),
        ]
    }
}

impl<D: Driver> Session<'_, D> {
    /// Rows that were held are stuck in their lanes, and rows that another door settled or that hold nothing are passed over.
    async fn tell_lanes(&mut self, plan: &Plan, passed: &Passed) -> Result<(), D::Error> {
        let digests: Vec<Uuid> = passed.all().collect();
        let mut lanes = self.lock_lanes_of(plan, digests.clone()).await?;
        let locked = self.lock_work(digests).await?;
        let now = self.now().await?;
        let (mut changed, mut notes) = (BTreeSet::new(), Vec::new());
        for mut work in locked.into_values() {
            let (key, spot) = (work.lane_key(), work.spot());
            let is_due = work.due_ms.is_some_and(|due_ms| due_ms <= now.as_millis());
            let event = if let Some(cause) = passed.cause(&work).filter(|_| is_due) {
                work.change(State::SkippedDuplicate, Some(cause), now);
                work.deadline_ms = Some(now.after(plan.retention.keep()).as_millis());
                work.leave();
                notes.push(Transition::of(&work, cause, now));
                Event::Applied(spot)
            } else if work.state == State::Parked && work.cause == Some(Cause::Unknown) {
                work.deadline_ms = None;
                Event::Stuck(work.row())
            } else {
                continue;
            };
            changed.insert(work.number);
            lanes.keep(work);
            if let Some(key) = key {
                lanes.happen(&key, event)?;
            }
        }
        self.settle_lanes(plan, &mut lanes, changed, now).await?;
        self.note_transitions(&notes).await
    }
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
        first_tried_at: Timestamp::from_millis(row.number(12)?),
        key_generation: small(row.number(13)?),
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
