//! The store: batchers in front of one engine, behind [`semel_core::Store`].

use std::sync::Arc;

use semel_core::record::{Claim, Event};
use semel_core::store::batcher::{Batcher, Item};
use semel_core::store::outcomes::KeepRequest;
use semel_core::store::{
    Answer, Answers, BATCH_MAX, Batch, ClaimAnswer, ClaimRequest, Counts, Limits, MarkAnswer,
    MarkRequest, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, Stats, Swept, each_fails, merge,
};
use semel_core::{Clock, Identity, Record, Result, Store, Timestamp};

use crate::claims::{ClaimItem, Claims};
use crate::config::Config;
use crate::decisions::{Decisions, Renewals, Sent, Settles};
use crate::doubts::Unheard;
use crate::engine::{Attempt, Engine};
use crate::inbox::Ringing;
use crate::keep::{Bar, Bars, Keeps};
use crate::query::{COUNTED_MAX, Found, Look, seen};
use crate::rows::sql_ms;
use crate::{doubts, partitions, schema, sweep};

/// Semel's store on PostgreSQL. It belongs to the runtime that it was connected on.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = semel_postgres::Config::from_url("postgres://semel@db.internal/payments")?;
/// let once = semel_core::Once::new(config.connect().await?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: Config,
    claims: Batcher<ClaimItem>,
    renewals: Batcher<Sent<RenewRequest>>,
    settles: Batcher<Sent<SettleRequest>>,
    releases: Batcher<Sent<Claim>>,
    marks: Batcher<Sent<MarkRequest>>,
    resolves: Batcher<Sent<ResolveRequest>>,
    looks: Batcher<Look>,
    pub(crate) keeps: Batcher<Sent<KeepRequest>>,
    pub(crate) bars: Batcher<Bar>,
    pub(crate) ringing: Ringing,
}

impl PostgresStore {
    pub(crate) async fn connect(config: Config) -> Result<Self> {
        let engine = Arc::new(Engine::new(&config)?);
        let mut link = engine.links.get().await?;
        schema::migrate(&engine, &mut link, config.create).await?;
        if config.create {
            let kept = partitions::keep_up(&engine, &mut link, config.history_keep).await;
            kept.map_err(|failure| failure.into_error("making months"))?;
        }
        drop(link);
        if let Some(interval) = config.sweep_every {
            tokio::spawn(sweep::run(engine.weak(), interval, config.history_keep));
        }
        let (lanes, keep_ms) = (config.lanes, sql_ms(config.history_keep));
        let store = Self {
            claims: claims(engine.clone(), lanes),
            renewals: batcher(engine.clone(), 1, Renewals),
            settles: batcher(engine.clone(), lanes, Settles),
            releases: batcher(engine.clone(), 1, Decisions),
            marks: batcher(engine.clone(), 1, Decisions),
            resolves: batcher(engine.clone(), 1, Decisions),
            looks: looks(engine.clone(), lanes),
            keeps: batcher(engine.clone(), lanes, Keeps),
            bars: batcher(engine.clone(), 1, Bars { keep_ms }),
            ringing: Ringing::new(engine.weak(), &config),
            engine,
            config,
        };
        // From here on its clock is the server's.
        store.ask_time().await?;
        Ok(store)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The rows of identities as they are stored.
    pub(crate) fn load(&self, identities: Batch<Identity>) -> Answers<'_, Found> {
        send(&self.looks, identities, Look)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.engine.links.close();
    }
}

fn batcher<I, T>(engine: Arc<Engine>, lanes: usize, attempt: T) -> Batcher<I>
where
    I: Item + Sync,
    T: Attempt<I, I::Answer> + 'static,
{
    let attempt = Arc::new(attempt);
    Batcher::new(lanes, BATCH_MAX, move |items: Batch<I>| {
        let (engine, attempt) = (engine.clone(), attempt.clone());
        Box::pin(async move { engine.answered(&items, attempt.as_ref()).await.0.into() })
    })
}

/// Look-ups share round trips with each other, never with what writes.
fn looks(engine: Arc<Engine>, lanes: usize) -> Batcher<Look> {
    Batcher::new(lanes, BATCH_MAX, move |items: Batch<Look>| {
        let engine = engine.clone();
        Box::pin(async move {
            let identities: Vec<Identity> =
                items.into_iter().map(|Look(identity)| identity).collect();
            match engine.load(&identities).await {
                Ok(found) => found.into_iter().map(Ok).collect(),
                Err(error) => each_fails(identities.len(), &error),
            }
        })
    })
}

/// Claims are also given back if nobody can tell whether they were granted.
fn claims(engine: Arc<Engine>, lanes: usize) -> Batcher<ClaimItem> {
    Batcher::new(lanes, BATCH_MAX, move |items: Batch<ClaimItem>| {
        let engine = engine.clone();
        Box::pin(async move {
            let (answers, doubtful) = engine.answered(&items, &Claims).await;
            if doubtful {
                let refused = items.into_iter().zip(&answers).filter(|(_, a)| a.is_err());
                let doubtful = refused.map(|(item, _)| item).collect();
                tokio::spawn(doubts::give_back(engine.weak(), doubtful));
            }
            answers.into()
        })
    })
}

/// Has items sent by a batcher.
pub(crate) fn send<'a, I, W: Item>(
    batcher: &'a Batcher<W>,
    items: Batch<I>,
    wrap: fn(I) -> W,
) -> Answers<'a, W::Answer>
where
    I: Send + 'a,
{
    Box::pin(async move { batcher.call(items.into_iter().map(wrap).collect()).await })
}

impl Store for PostgresStore {
    fn limits(&self) -> Limits {
        Limits::exact().with_counts(Counts::ExactUpTo(COUNTED_MAX.unsigned_abs()))
    }

    fn now(&self) -> Timestamp {
        self.engine.clock.now()
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        Box::pin(async move {
            let items: Batch<ClaimItem> = items.into_iter().map(ClaimItem::new).collect();
            let unheard = Unheard::new(self.engine.weak(), &items);
            let answers = self.claims.call(items).await;
            unheard.heard();
            answers
        })
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        send(&self.renewals, items, Sent)
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        let (answers, fit) = self.limits().sort_out(items);
        let settled = send(&self.settles, fit, Sent);
        Box::pin(async move { merge(answers, settled.await) })
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        send(&self.releases, items, Sent)
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        send(&self.marks, items, Sent)
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        send(&self.resolves, items, Sent)
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        let found = self.load(identities);
        Box::pin(async move {
            let found = found.await.into_iter();
            found.map(|found| found.map(seen)).collect()
        })
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        Box::pin(async move { self.engine.history(&identity).await })
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move { self.engine.list(&query).await })
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        Box::pin(async move { self.engine.sweep(limit, self.config.history_keep).await })
    }

    fn stats(&self) -> Answer<'_, Stats> {
        Box::pin(async move { self.engine.stats().await })
    }
}
