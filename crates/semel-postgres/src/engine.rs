//! Round trips of many items, and what becomes of one that goes wrong.
//!
//! An error of the server means that nothing was done, and most of them concern one item or one moment. A
//! connection that breaks before the answer says nothing: the same items are asked again, which is safe for every
//! verb, because a claim is known by its nonce and every other verb by its fence. What is tried again, and how, is
//! [`semel_core::store::remote`]'s business; here is what PostgreSQL's failures mean to it.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::batcher::Item;
use semel_core::store::remote::{self, Attempt, Remedy};
use semel_core::store::{Batch, StoreObserver};
use semel_core::{Error, Identity, Kind, Result, ServerClock, Timestamp};
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use crate::config::Config;
use crate::connection::{Failure, Link, Links, Wait};
use crate::error::is_collision;
use crate::inbox::LaneWalk;
use crate::partitions::Months;
use crate::sql::Sql;
use crate::sweep::Pace;

/// The pause before a broken connection is made again.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What all verbs of a store share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) links: Links,
    pub(crate) sql: Sql,
    pub(crate) clock: Arc<ServerClock>,
    pub(crate) schema: String,
    pub(crate) watch: Option<Arc<dyn StoreObserver>>,
    /// Up to this fence the sequence is known to be ahead of what was kept.
    pub(crate) fence_floor: AtomicI64,
    /// The months whose partitions were made and dropped, by this process.
    pub(crate) months_kept: Months,
    /// The months of messages that were made, by this process.
    pub(crate) message_months: Months,
    /// Where the sweep stands among the lanes.
    pub(crate) lane_walk: LaneWalk,
    /// How much the sweep does at once.
    pub(crate) pace: Pace,
    pub(crate) patience: Duration,
}

/// A verb: one try of a batch on one connection.
pub(crate) trait Verb<I, A>: Send + Sync {
    /// Tries. What can be answered is answered, also if the rest fails.
    fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&I],
        wait: Wait,
    ) -> impl Future<Output = Tried<A>> + Send;
}

/// What came of a try: answers, and why the rest has none.
pub(crate) struct Tried<A> {
    pub(crate) answers: Vec<Option<A>>,
    pub(crate) failure: Option<Failure>,
}

impl<A> Tried<A> {
    pub(crate) fn new(len: usize) -> Self {
        Self {
            answers: (0..len).map(|_| None).collect(),
            failure: None,
        }
    }

    /// The places without an answer.
    pub(crate) fn open(&self) -> Vec<usize> {
        let open = |place: &usize| self.answers[*place].is_none();
        (0..self.answers.len()).filter(open).collect()
    }

    /// The rest fails.
    pub(crate) fn failed(mut self, failure: impl Into<Failure>) -> Self {
        self.failure = Some(failure.into());
        self
    }

    /// What was done all together or not at all.
    pub(crate) fn whole(len: usize, done: Result<Vec<A>, Failure>) -> Self {
        match done {
            Ok(answers) => Self {
                answers: answers.into_iter().map(Some).collect(),
                failure: None,
            },
            Err(failure) => Self::new(len).failed(failure),
        }
    }

    fn into_results(self) -> Batch<Result<A, remote::Failure>> {
        let remedy = self.failure.as_ref().map_or(Remedy::Nothing, remedy);
        let lost = matches!(self.failure, Some(Failure::Lost(_)));
        let error = match self.failure {
            Some(failure) => failure.into_error("answering a call"),
            None => Error::new(Kind::Internal, "an item was not answered"),
        };
        let failure = || remote::Failure {
            error: error.duplicate(),
            remedy,
            lost,
        };
        let answers = self.answers.into_iter();
        answers.map(|answer| answer.ok_or_else(failure)).collect()
    }
}

/// A verb with what it needs to be tried.
struct Trying<'a, V> {
    engine: &'a Engine,
    verb: &'a V,
    wait: Wait,
}

impl<I: Item + Sync, V: Verb<I, I::Answer>> Attempt<I> for Trying<'_, V> {
    async fn attempt(&self, items: &[&I]) -> Batch<Result<I::Answer, remote::Failure>> {
        let begun = Instant::now();
        let tried = match self.engine.links.get().await {
            Ok(mut link) => self.verb.on(self.engine, &mut link, items, self.wait).await,
            Err(error) => Tried::new(items.len()).failed(error),
        };
        match (&tried.failure, &self.engine.watch) {
            (None, Some(watch)) => watch.committed(items.len(), begun.elapsed()),
            (None, None) => {}
            // The server that idle connections lead to may be gone, or no longer the right one.
            (Some(failure), _) if is_elsewhere(failure) => self.engine.links.forget_idle(),
            (Some(_), _) => {}
        }
        tried.into_results()
    }
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
            months_kept: Months::default(),
            message_months: Months::default(),
            lane_walk: LaneWalk::default(),
            pace: Pace::default(),
            patience: config.timeout,
        })
    }

    /// Has a batch answered.
    pub(crate) async fn answered<I, V>(
        &self,
        items: &[I],
        verb: &V,
        wait: Wait,
    ) -> Batch<Result<I::Answer, remote::Failure>>
    where
        I: Item + Sync,
        V: Verb<I, I::Answer>,
    {
        let engine = self;
        let trying = Trying { engine, verb, wait };
        remote::answered(&trying, items, self.patience).await
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

/// What may help against a failure.
pub(crate) fn remedy(failure: &Failure) -> Remedy {
    match failure {
        Failure::Lost(_) => Remedy::Later,
        Failure::Refused(error) if is_collision(error) => Remedy::Again,
        Failure::Refused(error) => refused(error),
        Failure::Failed(error) => match error.kind() {
            Kind::Unavailable => Remedy::LaterIfLost,
            Kind::Damaged => Remedy::Apart,
            _ => Remedy::Nothing,
        },
    }
}

/// Whether another connection may find a better server.
fn is_elsewhere(failure: &Failure) -> bool {
    match failure {
        Failure::Lost(_) => true,
        Failure::Refused(_) | Failure::Failed(_) => {
            matches!(remedy(failure), Remedy::Later | Remedy::Elsewhere)
        }
    }
}

fn refused(error: &tokio_postgres::Error) -> Remedy {
    let Some(state) = error.code() else {
        return Remedy::Nothing;
    };
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        // A pooler changed the session under us.
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::FEATURE_NOT_SUPPORTED,
    ];
    if passing.contains(state) {
        return Remedy::Later;
    }
    if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
        // No longer the one that writes: a failover may have found another.
        return Remedy::Elsewhere;
    }
    match state.code().get(..2) {
        Some("22" | "23" | "54" | "55") => Remedy::Apart,
        _ => Remedy::Nothing,
    }
}

/// What a batch is about, for statements over all of its identities.
pub(crate) fn identities<'a, I>(
    items: &'a [I],
    of: impl Fn(&'a I) -> &'a Identity,
) -> Vec<&'a Identity> {
    items.iter().map(of).collect()
}
