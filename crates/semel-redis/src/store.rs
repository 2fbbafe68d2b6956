//! The store: the engine and its batchers, behind [`semel_core::Store`].

use std::fmt;
use std::sync::Arc;

use semel_core::protocol::view;
use semel_core::record::{Claim, Event};
use semel_core::store::batcher::{Batcher, RoundTrip};
use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    Swept, check_batch,
};
use semel_core::{Clock, Identity, Record, Result, ServerClock, Store};
use tokio::task::JoinHandle;

use crate::checks::{self, Findings};
use crate::config::Config;
use crate::engine::{Engine, fresh_nonce};
use crate::give_back::{GiveBack, OnTheWay};
use crate::items::{ClaimItem, RenewItem, SettleItem};
use crate::keys::Keys;
use crate::link::Link;

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
    give_back: Arc<GiveBack>,
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
        let give_back = Arc::new(GiveBack::default());
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
            give_back,
            tasks: Vec::new(),
        };
        store.start(&config);
        Ok(store)
    }

    fn start(&mut self, config: &Config) {
        let (engine, give_back) = (self.engine.clone(), self.give_back.clone());
        self.tasks
            .push(tokio::spawn(async move { give_back.run(&engine).await }));
        if let Some(interval) = config.sweep_every {
            let engine = self.engine.clone();
            self.tasks.push(tokio::spawn(
                async move { engine.sweep_every(interval).await },
            ));
        }
    }

    /// The server's clock, as far as its answers have told: what a read cache in front of the store judges by.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.engine.clock.clone()
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
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>> {
        Box::pin(async move {
            check_batch(items.len())?;
            let deadline = self.engine.link.deadline();
            let item = |request| ClaimItem {
                request,
                nonce: fresh_nonce(),
                deadline,
            };
            let items: Vec<ClaimItem> = items.into_iter().map(item).collect();
            let names = items
                .iter()
                .map(|item| (item.request.identity.clone(), item.nonce));
            let on_the_way = OnTheWay::new(names.collect(), self.give_back.clone());
            let answers = self.claims.call(items).await?;
            on_the_way.arrived();
            Ok(answers)
        })
    }

    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>> {
        Box::pin(async move {
            check_batch(items.len())?;
            let deadline = self.engine.link.deadline();
            let items = items.into_iter().map(|item| RenewItem(item, deadline));
            self.renewals.call(items.collect()).await
        })
    }

    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>> {
        Box::pin(async move {
            check_batch(items.len())?;
            let deadline = self.engine.link.deadline();
            let items = items.into_iter().map(|item| SettleItem(item, deadline));
            self.settles.call(items.collect()).await
        })
    }

    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>> {
        Box::pin(async move {
            check_batch(items.len())?;
            self.engine.release(items).await
        })
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>> {
        Box::pin(async move {
            check_batch(items.len())?;
            self.engine.mark_unknown(items).await
        })
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>> {
        Box::pin(async move {
            check_batch(items.len())?;
            self.engine.resolve(items).await
        })
    }

    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>> {
        Box::pin(async move {
            check_batch(identities.len())?;
            let loaded = self
                .engine
                .load(&identities, self.engine.link.deadline())
                .await?;
            let seen = loaded.into_iter().map(|loaded| {
                let record = loaded.stored.map(|stored| stored.record);
                view(record, loaded.now).map(Arc::new)
            });
            Ok(seen.collect())
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
}
