//! The store: batchers in front of one engine, behind [`semel_core::Store`].

use std::sync::Arc;

use semel_core::record::{Claim, Event};
use semel_core::store::batcher::{Batcher, Item, RoundTrip};
use semel_core::store::outcomes::KeepRequest;
use semel_core::store::remote::{Failure, Orphans};
use semel_core::store::{
    Answer, Answers, AuditEntry, BATCH_MAX, Batch, ClaimAnswer, ClaimRequest, Counts, Limits,
    MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, Stats, Swept, each_fails, merge,
};
use semel_core::{Clock, Identity, Kind, Record, Result, Store, Timestamp};

use crate::config::Config;
use crate::connection::Wait;
use crate::engine::{Engine, Verb};
use crate::inbox::Waking;
use crate::keep::{Bar, Bars, Keeps};
use crate::orphans::TURNS_MAX;
use crate::query::{COUNTED_MAX, Found, Look, seen};
use crate::records::sql_ms;
use crate::verbs::claims::{ClaimItem, Claims};
use crate::verbs::decisions::{Decisions, Renewals, Sent, Settles};
use crate::{notes, partitions, schema, sweep};

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
    orphans: Orphans<Engine>,
    claims: Batcher<ClaimItem>,
    renewals: Batcher<Sent<RenewRequest>>,
    settles: Batcher<Sent<SettleRequest>>,
    releases: Batcher<Sent<Claim>>,
    marks: Batcher<Sent<MarkRequest>>,
    resolves: Batcher<Sent<ResolveRequest>>,
    looks: Batcher<Look>,
    pub(crate) keeps: Batcher<Sent<KeepRequest>>,
    pub(crate) bars: Batcher<Bar>,
    pub(crate) waking: Waking,
    /// The last counts of messages, while they are told again.
    pub(crate) counts: semel_core::inbox::CountsCache,
}

impl PostgresStore {
    pub(crate) async fn connect(mut config: Config) -> Result<Self> {
        let mut engine = Engine::new(&config)?;
        if config.prepare && !engine.links.reaches_server().await? {
            config = config.prepare(false);
            engine = Engine::new(&config)?;
        }
        let engine = Arc::new(engine);
        let mut link = engine.links.get().await?;
        schema::migrate(&engine, &mut link, config.create).await?;
        if config.create {
            notes::takes_writes(&mut link).await?;
            let kept = partitions::keep_up(&engine, &mut link, config.history_keep).await;
            kept.map_err(|failure| failure.into_error("making months"))?;
        }
        drop(link);
        if let Some(interval) = config.sweep_every {
            tokio::spawn(sweep::run(engine.weak(), interval, config.history_keep));
        }
        let (lanes, keep_ms) = (config.lanes, sql_ms(config.history_keep));
        let orphans = Orphans::new(&engine, TURNS_MAX);
        let store = Self {
            claims: claims(engine.clone(), &orphans, lanes),
            renewals: batcher(engine.clone(), 1, Renewals),
            settles: batcher(engine.clone(), lanes, Settles),
            releases: batcher(engine.clone(), 1, Decisions),
            marks: batcher(engine.clone(), 1, Decisions),
            resolves: batcher(engine.clone(), 1, Decisions),
            looks: looks(engine.clone(), lanes),
            keeps: batcher(engine.clone(), lanes, Keeps),
            bars: batcher(engine.clone(), 1, Bars { keep_ms }),
            waking: Waking::new(engine.weak(), &config),
            counts: semel_core::inbox::CountsCache::default(),
            orphans,
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

/// How many round trips of one verb wait at the same time for records that another transaction holds.
const APART_LANES: usize = 2;

/// A batcher whose locked items wait apart from the others.
fn batcher<I, V>(engine: Arc<Engine>, lanes: usize, verb: V) -> Batcher<I>
where
    I: Item + Sync,
    V: Verb<I, I::Answer> + 'static,
{
    let verb = Arc::new(verb);
    let run = move |wait| {
        let (engine, verb) = (engine.clone(), verb.clone());
        move |items: Batch<I>| {
            let (engine, verb) = (engine.clone(), verb.clone());
            let answers = async move {
                let answers = engine.answered(&items, verb.as_ref(), wait).await;
                heard(answers).collect()
            };
            Box::pin(answers) as RoundTrip<I::Answer>
        }
    };
    Batcher::new(lanes, BATCH_MAX, run(Wait::Briefly)).with_apart(APART_LANES, run(Wait::Patiently))
}

fn heard<A>(answers: Batch<Result<A, Failure>>) -> impl Iterator<Item = Result<A>> {
    let answers = answers.into_iter();
    answers.map(|answer| answer.map_err(|failure| failure.error))
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

/// Claims are also given back if it cannot be told whether they were granted.
fn claims(engine: Arc<Engine>, orphans: &Orphans<Engine>, lanes: usize) -> Batcher<ClaimItem> {
    let run = |wait| {
        let (engine, orphans) = (engine.clone(), orphans.clone());
        move |items: Batch<ClaimItem>| {
            let (engine, orphans) = (engine.clone(), orphans.clone());
            let answers = async move {
                let answers = engine.answered(&items, &Claims, wait).await;
                for (item, answer) in items.iter().zip(&answers) {
                    let Err(failure) = answer else { continue };
                    let is_lost = item.is_lost(failure);
                    // What is locked is asked again by itself, if that was not done yet.
                    let is_over = wait == Wait::Patiently || failure.error.kind() != Kind::Locked;
                    if is_lost && is_over {
                        item.orphan(&engine)
                            .into_iter()
                            .for_each(|orphan| orphans.add(orphan));
                    }
                }
                heard(answers).collect()
            };
            Box::pin(answers) as RoundTrip<ClaimAnswer>
        }
    };
    Batcher::new(lanes, BATCH_MAX, run(Wait::Briefly)).with_apart(APART_LANES, run(Wait::Patiently))
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
            let orphan = |item: &ClaimItem| item.orphan(&self.engine);
            let unheard = self
                .orphans
                .unheard(items.iter().filter_map(orphan).collect());
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

    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>> {
        Box::pin(async move { self.engine.audit(limit).await })
    }
}
