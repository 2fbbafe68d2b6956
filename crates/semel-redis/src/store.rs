//! The store: the engine and its batchers, behind [`semel_core::Store`].

use std::fmt;
use std::sync::Arc;

use semel_core::protocol::view;
use semel_core::record::{Claim, Event};
use semel_core::store::batcher::{Batcher, RoundTrip};
use semel_core::store::remote::{Nonce, Orphans};
use semel_core::store::{
    Answer, Answers, AuditEntry, Batch, ClaimAnswer, ClaimRequest, Limits, MarkAnswer, MarkRequest,
    Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest,
    SettleAnswer, SettleRequest, Stats, Swept, check_batch, each_fails, merge,
};
use semel_core::{Clock, Identity, Kind, Record, Result, ServerClock, Store, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::checks::{self, Findings};
use crate::config::Config;
use crate::connection::{Link, PAUSES};
use crate::engine::Engine;
use crate::items::{ClaimItem, RenewItem, SettleItem};
use crate::keys::Keys;
use crate::orphans::TURNS_MAX;

/// Round trips of one verb that are under way at the same time, on a single server: one is worked on
/// while the next is on its way.
const LANES: usize = 2;
/// The same on a cluster: a node that does not answer must not hold up what goes to the others.
const CLUSTER_LANES: usize = 64;
/// The most items of a round trip.
const ITEMS_MAX: usize = 256;

/// Semel's store on Redis. Dropping it ends its background work; waiting calls finish.
///
/// ```no_run
/// # async fn example() -> semel_core::Result<()> {
/// let config = semel_redis::Config::from_url("redis://127.0.0.1:6379/0")?;
/// let once = semel_core::Once::new(config.connect().await?);
/// # Ok(())
/// # }
/// ```
pub struct RedisStore {
    engine: Arc<Engine>,
    findings: Findings,
    claims: Batcher<ClaimItem>,
    settles: Batcher<SettleItem>,
    renewals: Batcher<RenewItem>,
    orphans: Orphans<Engine>,
    tasks: Vec<JoinHandle<()>>,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisStore({:?})", self.engine.link)
    }
}

impl RedisStore {
    pub(crate) async fn connect(config: Config) -> Result<Self> {
        let link = Link::connect(&config).await?;
        let keys = Keys::new(&config.prefix, link.is_cluster());
        let findings = checks::check(&link, &keys, &config).await?;
        let clock = Arc::new(ServerClock::new());
        clock.heard(findings.now);
        let engine = Arc::new(Engine {
            link,
            keys,
            clock,
            watch: config.watch.clone(),
            history_keep: config.history_keep,
        });
        let orphans = Orphans::new(&engine, TURNS_MAX);
        let (for_claims, for_settles, for_renewals) =
            (engine.clone(), engine.clone(), engine.clone());
        let lanes = if engine.link.is_cluster() {
            CLUSTER_LANES
        } else {
            LANES
        };
        let mut store = Self {
            claims: Batcher::new(lanes, ITEMS_MAX, move |items| {
                let engine = for_claims.clone();
                Box::pin(async move { engine.claim(items).await }) as RoundTrip<ClaimAnswer>
            }),
            settles: Batcher::new(lanes, ITEMS_MAX, move |items| {
                let engine = for_settles.clone();
                Box::pin(async move { engine.settle(items).await }) as RoundTrip<SettleAnswer>
            }),
            renewals: Batcher::new(lanes, ITEMS_MAX, move |items| {
                let engine = for_renewals.clone();
                Box::pin(async move { engine.renew(items).await }) as RoundTrip<RenewAnswer>
            }),
            engine,
            findings,
            orphans,
            tasks: Vec::new(),
        };
        store.start(&config);
        Ok(store)
    }

    fn start(&mut self, config: &Config) {
        if let Some(interval) = config.sweep_every {
            let engine = self.engine.clone();
            self.tasks.push(tokio::spawn(
                async move { engine.sweep_every(interval).await },
            ));
        }
    }

    /// Claims, again while the server takes no writes: it may become a primary, or its address lead to one. Each try
    /// queues anew, so that replays, which such a server answers, never wait for it.
    async fn claim_patiently(&self, items: Batch<ClaimItem>) -> Batch<Result<ClaimAnswer>> {
        let again = items.clone();
        let mut answers = self.claims.call(items).await;
        let mut pauses = PAUSES;
        loop {
            let next = Instant::now() + pauses.take();
            let waits = |place: &usize| {
                next < again[*place].deadline
                    && matches!(&answers[*place], Err(error) if error.kind() == Kind::ReadOnly)
            };
            let places: Vec<usize> = (0..answers.len()).filter(waits).collect();
            if places.is_empty() {
                return answers;
            }
            sleep_until(next).await;
            let items = places.iter().map(|place| again[*place].clone()).collect();
            for (place, answer) in places.into_iter().zip(self.claims.call(items).await) {
                answers[place] = answer;
            }
        }
    }

    /// How durable this server's records are, in sentences for people.
    pub fn notes(&self) -> Vec<String> {
        self.findings.notes.clone()
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Store for RedisStore {
    fn limits(&self) -> Limits {
        Limits::exact().with_body_bytes(self.findings.body_bytes_max)
    }

    fn now(&self) -> Timestamp {
        self.engine.clock.now()
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        Box::pin(async move {
            let deadline = self.engine.link.deadline();
            let item = |request: ClaimRequest| ClaimItem {
                nonce: request.nonce.unwrap_or_else(Nonce::fresh),
                request,
                deadline,
            };
            let items: Batch<ClaimItem> = items.into_iter().map(item).collect();
            let claims = items.iter().filter_map(ClaimItem::orphan).collect();
            let unheard = self.orphans.unheard(claims);
            let answers = self.claim_patiently(items).await;
            unheard.heard_of(&answers);
            answers
        })
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        let deadline = self.engine.link.deadline();
        let items = items.into_iter().map(move |item| RenewItem(item, deadline));
        Box::pin(self.renewals.call(items.collect()))
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        let deadline = self.engine.link.deadline();
        let (answers, fit) = self.limits().sort_out(items);
        let fit = fit.into_iter().map(|item| SettleItem(item, deadline));
        let fit = fit.collect();
        Box::pin(async move { merge(answers, self.settles.call(fit).await) })
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        Box::pin(self.engine.release(items))
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        Box::pin(self.engine.mark_unknown(items))
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        Box::pin(self.engine.resolve(items))
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        Box::pin(async move {
            if let Err(error) = check_batch(identities.len()) {
                return each_fails(identities.len(), &error);
            }
            let deadline = self.engine.link.deadline();
            let loaded = self.engine.load(&identities, deadline).await;
            let loaded = self.engine.complete(&identities, loaded, deadline).await;
            let seen = loaded.into_iter().map(|loaded| {
                let loaded = loaded?;
                let record = loaded.stored.map(|stored| stored.record);
                Ok(view(record, loaded.now).map(Arc::new))
            });
            seen.collect()
        })
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        Box::pin(async move { self.engine.history(&identity).await })
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move { self.engine.list(&query).await })
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        Box::pin(self.engine.sweep(limit))
    }

    fn stats(&self) -> Answer<'_, Stats> {
        Box::pin(self.engine.stats())
    }

    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>> {
        Box::pin(self.engine.audit(limit))
    }
}
