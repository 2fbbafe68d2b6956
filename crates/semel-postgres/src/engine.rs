//! Round trips of many items, and what becomes of one that goes wrong.
//!
//! An error of the server means that nothing was done, and most of them concern one item or one moment. A
//! connection that breaks before the answer says nothing: the same items are asked again, which is safe for every
//! verb, because a claim is known by its nonce and every other verb by its fence.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::Watch;
use semel_core::{Error, Identity, Kind, Result, ServerClock, Timestamp};
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;

use crate::config::Config;
use crate::error::is_collision;
use crate::link::{Failure, Link, Links};
use crate::sql::Sql;

/// How often a batch that met another transaction is tried again.
const COLLISIONS_MAX: usize = 20;
/// The pause before a broken connection is made again.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What all verbs of a store share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) links: Links,
    pub(crate) sql: Sql,
    pub(crate) clock: Arc<ServerClock>,
    pub(crate) schema: String,
    pub(crate) watch: Option<Arc<dyn Watch>>,
    /// Up to this fence the sequence is known to be ahead of what was kept.
    pub(crate) fence_floor: AtomicI64,
    /// The month up to which partitions were made, by this process.
    pub(crate) months_kept: MonthsKept,
    /// The months of messages that were made, by this process.
    pub(crate) message_months: MonthsMade,
    pub(crate) patience: Duration,
}

/// A month's number, 0 before the first.
#[derive(Debug, Default)]
pub(crate) struct MonthsKept(AtomicI64);

impl MonthsKept {
    /// Writes down `month` and says which it was before.
    pub(crate) fn swap(&self, month: i64) -> i64 {
        self.0.swap(month, Ordering::Relaxed)
    }
}

/// Numbers of months.
#[derive(Debug, Default)]
pub(crate) struct MonthsMade(Mutex<BTreeSet<i64>>);

impl MonthsMade {
    /// Whether `month` is new.
    pub(crate) fn add(&self, month: i64) -> bool {
        self.months().insert(month)
    }

    pub(crate) fn forget(&self, month: i64) {
        self.months().remove(&month);
    }

    fn months(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        // The set is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One try of a batch on one connection: an answer per item, in their order.
pub(crate) trait Attempt<I, A>: Send + Sync {
    /// Tries.
    fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[I],
    ) -> impl Future<Output = Result<Vec<A>, Failure>> + Send;
}

/// What is done about a failure.
pub(crate) enum Remedy {
    /// Ask again at once.
    Again,
    /// Ask again on another connection, for as long as patience lasts.
    Reconnect,
    /// Ask for each item by itself: only the culprit hears of it.
    OneByOne,
    /// Say so.
    GiveUp,
}

impl Engine {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        Ok(Self {
            links: Links::new(config)?,
            sql: Sql::new(&config.schema),
            clock: Arc::new(ServerClock::new()),
            schema: config.schema.clone(),
            watch: config.watch.clone(),
            fence_floor: AtomicI64::new(0),
            months_kept: MonthsKept::default(),
            message_months: MonthsMade::default(),
            patience: config.timeout,
        })
    }

    /// Has a batch answered. The second value says whether some item may have been done all the same,
    /// though its caller is told that it was not.
    pub(crate) async fn answered<I, A, T>(&self, items: &[I], attempt: &T) -> (Vec<Result<A>>, bool)
    where
        I: Send + Sync,
        A: Send,
        T: Attempt<I, A>,
    {
        match self.together(items, attempt).await {
            Ok(answers) => (answers.into_iter().map(Ok).collect(), false),
            Err((Remedy::OneByOne, _, before)) if items.len() > 1 => {
                let (mut answers, mut doubtful) = (Vec::with_capacity(items.len()), false);
                for item in items {
                    let alone = self.together(std::slice::from_ref(item), attempt).await;
                    answers.push(alone.map_err(|(_, error, doubt)| {
                        doubtful |= doubt || before;
                        error
                    }));
                }
                let answers = answers.into_iter().map(|a| a.and_then(only)).collect();
                (answers, doubtful)
            }
            Err((_, error, doubtful)) => {
                let each = items.iter().map(|_| Err(error.duplicate()));
                (each.collect(), doubtful)
            }
        }
    }

    /// Tries a batch until it is answered or nothing more can be done about it.
    async fn together<I, A, T>(
        &self,
        items: &[I],
        attempt: &T,
    ) -> Result<Vec<A>, (Remedy, Error, bool)>
    where
        I: Send + Sync,
        A: Send,
        T: Attempt<I, A>,
    {
        let (began, mut collisions, mut doubtful) = (Instant::now(), 0, false);
        loop {
            let (failure, committed) = match self.attempted(items, attempt).await {
                Ok(answers) => return Ok(answers),
                Err(failed) => failed,
            };
            let remedy = remedy(&failure, doubtful);
            doubtful |= committed || matches!(failure, Failure::Lost(_));
            match remedy {
                Remedy::Again if collisions < COLLISIONS_MAX => collisions += 1,
                Remedy::Reconnect if began.elapsed() < self.patience => {
                    self.links.forget_idle();
                    sleep(PAUSE).await;
                }
                remedy => return Err((remedy, failure.into_error("answering a call"), doubtful)),
            }
        }
    }

    /// One try; with a failure comes whether an earlier statement of it was committed.
    async fn attempted<I, A, T>(&self, items: &[I], attempt: &T) -> Result<Vec<A>, (Failure, bool)>
    where
        I: Send + Sync,
        A: Send,
        T: Attempt<I, A>,
    {
        let begun = Instant::now();
        let mut link = self
            .links
            .get()
            .await
            .map_err(|error| (error.into(), false))?;
        let answers = attempt.on(self, &mut link, items).await;
        let answers = answers.map_err(|failure| (failure, link.has_committed()))?;
        debug_assert_eq!(answers.len(), items.len(), "one answer per item");
        if let Some(watch) = &self.watch {
            watch.committed(items.len(), begun.elapsed());
        }
        Ok(answers)
    }

    /// The server has said what time it is.
    pub(crate) fn heard(&self, now: Timestamp) {
        self.clock.heard(now);
    }

    /// Tells whoever watches which leases ended, now that it is durable.
    pub(crate) fn ended(&self, claims: &[Claim]) {
        if let Some(watch) = &self.watch {
            claims.iter().for_each(|claim| watch.lease_ended(claim));
        }
    }

    /// A reference that does not keep the store alive, for tasks in the background.
    pub(crate) fn weak(self: &Arc<Self>) -> Weak<Self> {
        Arc::downgrade(self)
    }
}

fn only<A>(answers: Vec<A>) -> Result<A> {
    let mut answers = answers.into_iter();
    let answer = answers.next();
    answer.ok_or_else(|| Error::new(Kind::Internal, "an item was not answered"))
}

/// `doubtful`: an earlier try was lost on its way, so it is worth waiting for the server.
pub(crate) fn remedy(failure: &Failure, doubtful: bool) -> Remedy {
    match failure {
        Failure::Lost(_) => Remedy::Reconnect,
        Failure::Refused(error) if is_collision(error) => Remedy::Again,
        Failure::Refused(error) => refused(error),
        Failure::Failed(error) if doubtful && error.kind() == Kind::Unavailable => {
            Remedy::Reconnect
        }
        Failure::Failed(error) if error.kind() == Kind::Damaged => Remedy::OneByOne,
        Failure::Failed(_) => Remedy::GiveUp,
    }
}

fn refused(error: &tokio_postgres::Error) -> Remedy {
    let Some(state) = error.code() else {
        return Remedy::GiveUp;
    };
    // The server is going down, or is no longer the one that writes: a failover may have found another.
    let elsewhere = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        // A pooler changed the session under us.
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::FEATURE_NOT_SUPPORTED,
    ];
    if elsewhere.contains(state) {
        return Remedy::Reconnect;
    }
    let one_by_one = matches!(state.code().get(..2), Some("22" | "23" | "54" | "55"));
    match one_by_one {
        true => Remedy::OneByOne,
        false => Remedy::GiveUp,
    }
}

/// What a batch is about, for statements over all of its identities.
pub(crate) fn identities<'a, I>(
    items: &'a [I],
    of: impl Fn(&'a I) -> &'a Identity,
) -> Vec<&'a Identity> {
    items.iter().map(of).collect()
}
