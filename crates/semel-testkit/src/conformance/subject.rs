//! What a test gets: a store, a way to let time pass, and shorthand for the verbs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use semel_core::record::{Claim, Event, Lease};
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkRequest, OutcomeStore, Query, ReleaseAnswer,
    RenewRequest, Resolution, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest,
    StateFilter, StoreExt, Takeover,
};
use semel_core::{
    Fingerprint, Identity, LeaseTerm, ManualClock, Outcome, Record, Retention, Store, Timestamp,
};

use tokio::task::JoinSet;

use super::abilities::{Ability, HoldUp, Open};

/// A fresh tenant per subject keeps tests apart on a server that they share.
static TENANTS: AtomicU64 = AtomicU64::new(0);
/// Process numbers repeat, and a server may outlive the process: each run has a name of its own.
static RUN: LazyLock<u64> = LazyLock::new(crate::random::fresh_seed);

/// A store under test.
#[derive(Clone)]
pub struct Subject {
    pub(super) store: Arc<dyn Store>,
    pub(super) outcomes: Option<Arc<dyn OutcomeStore>>,
    pub(super) clock: Option<Arc<ManualClock>>,
    pub(super) tenant: String,
    pub(super) open: Option<Open>,
    pub(super) hold_up: Option<HoldUp>,
    pub(super) declined: Vec<Ability>,
    /// Kept until the test is over, for example a temporary directory.
    pub(super) _keep: Option<Arc<dyn Send + Sync>>,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subject({:?})", self.store)
    }
}

impl Subject {
    /// A store on a clock that the test moves.
    pub fn on_clock(store: Arc<dyn Store>, clock: Arc<ManualClock>) -> Self {
        Self::in_real_time(store).moved_by(clock)
    }

    /// Says that the store is on this clock, which the test moves.
    #[must_use]
    pub fn moved_by(mut self, clock: Arc<ManualClock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// A store on a clock that nobody can move, such as a server's.
    pub fn in_real_time(store: Arc<dyn Store>) -> Self {
        let number = TENANTS.fetch_add(1, Ordering::Relaxed);
        Self {
            store,
            outcomes: None,
            clock: None,
            tenant: format!("tenant-{:016x}-{number}", *RUN),
            open: None,
            hold_up: None,
            declined: Vec::new(),
            _keep: None,
        }
    }

    /// Keeps `value` alive until the test is over.
    #[must_use]
    pub fn keeping(mut self, value: impl Send + Sync + 'static) -> Self {
        self._keep = Some(Arc::new(value));
        self
    }

    /// Says that the store, which is this one, can keep outcomes of claims that were granted elsewhere.
    #[must_use]
    pub fn with_outcomes(mut self, store: Arc<dyn OutcomeStore>) -> Self {
        self.outcomes = Some(store);
        self
    }

    /// The store as one that keeps outcomes; only for those that can.
    pub fn outcomes(&self) -> &Arc<dyn OutcomeStore> {
        let store = self.outcomes.as_ref();
        store.expect("a store that keeps outcomes")
    }

    /// The store itself.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The tenant of this test's identities.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Lets `duration` pass by the store's clock.
    pub async fn pass(&self, duration: Duration) {
        match &self.clock {
            Some(clock) => clock.advance(duration),
            None => tokio::time::sleep(duration).await,
        }
    }

    /// Steps the store's clock to `now`; only for stores whose clock can be set.
    pub fn step_to(&self, now: Timestamp) {
        let clock = self.clock.as_ref();
        clock.expect("a store whose clock can be set").set(now);
    }

    /// The identity with this key.
    pub fn identity(&self, key: &str) -> Identity {
        Identity::parse(&self.tenant, "conformance@1", key).expect("keys of tests are valid")
    }

    /// A claim of `key` that may not take over.
    pub fn request(&self, key: &str) -> ClaimRequest {
        ClaimRequest {
            identity: self.identity(key),
            fingerprint: print(1),
            lease: lease(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        }
    }

    /// Claims as asked.
    pub async fn ask(&self, request: ClaimRequest) -> ClaimAnswer {
        self.store
            .claim_one(request)
            .await
            .expect("the store answers")
    }

    /// Claims `key`.
    pub async fn claim(&self, key: &str) -> ClaimAnswer {
        self.ask(self.request(key)).await
    }

    /// The same in a task of its own.
    pub(super) async fn claim_owned(self, key: String) -> ClaimAnswer {
        self.claim(&key).await
    }

    /// Claims `key`, taking over if its outcome is unknown.
    pub async fn take_over(&self, key: &str) -> ClaimAnswer {
        let takeover = Takeover::Allowed;
        self.ask(ClaimRequest {
            takeover,
            ..self.request(key)
        })
        .await
    }

    /// Claims `key`, which must be granted.
    pub async fn granted(&self, key: &str) -> Lease {
        granted(self.claim(key).await)
    }

    /// Claims `key`, which must be granted, with a lease that no test outlives.
    pub async fn granted_for_long(&self, key: &str) -> Lease {
        let request = ClaimRequest {
            lease: long_lease(),
            ..self.request(key)
        };
        granted(self.ask(request).await)
    }

    /// Settles a claim with `body`.
    pub async fn settle(&self, claim: &Claim, body: &str) -> SettleAnswer {
        self.settle_for(claim, body, retention()).await
    }

    /// Settles a claim with `body`, kept as `retention` says.
    pub async fn settle_for(
        &self,
        claim: &Claim,
        body: &str,
        retention: Retention,
    ) -> SettleAnswer {
        self.try_settle(claim, body, retention)
            .await
            .expect("the store answers")
    }

    /// The same, of a store that may not answer.
    pub(super) async fn try_settle(
        &self,
        claim: &Claim,
        body: &str,
        retention: Retention,
    ) -> semel_core::Result<SettleAnswer> {
        let request = SettleRequest {
            claim: claim.clone(),
            outcome: Outcome::succeeded(body.to_owned()),
            took: Duration::from_millis(7),
            retention,
        };
        self.store.settle_one(request).await
    }

    /// Gives a claim back.
    pub async fn release(&self, claim: &Claim) -> ReleaseAnswer {
        let released = self.store.release_one(claim.clone()).await;
        released.expect("the store answers")
    }

    /// Claims and settles `key`.
    pub async fn settled(&self, key: &str, body: &str) -> Claim {
        let lease = self.granted(key).await;
        assert_eq!(self.settle(&lease.claim, body).await, SettleAnswer::Settled);
        lease.claim
    }

    /// Renews a claim's lease by the usual term.
    pub async fn renew(&self, claim: &Claim) -> semel_core::store::RenewAnswer {
        let (claim, lease) = (claim.clone(), lease());
        let renewed = self.store.renew_one(RenewRequest { claim, lease }).await;
        renewed.expect("the store answers")
    }

    /// Says of a claim that its run could not tell.
    pub async fn mark(&self, claim: &Claim) -> semel_core::store::MarkAnswer {
        let cause = semel_core::record::UnknownCause::RunUndecided;
        let claim = claim.clone();
        let marked = self
            .store
            .mark_one(MarkRequest {
                claim,
                cause,
                evidence: None,
            })
            .await;
        marked.expect("the store answers")
    }

    /// Decides about a claim.
    pub async fn resolve(&self, claim: &Claim, resolution: Resolution) -> ResolveAnswer {
        let request = ResolveRequest {
            claim: claim.clone(),
            by: Actor::new("the suite").expect("a short name is valid"),
            resolution,
            reason: None,
        };
        self.store
            .resolve_one(request)
            .await
            .expect("the store answers")
    }

    /// The record of `key` as it stands.
    pub async fn look_up(&self, key: &str) -> Option<Arc<Record>> {
        let found = self.store.look_up_one(self.identity(key)).await;
        found.expect("the store answers")
    }

    /// The name of the state of `key`, or `absent`.
    pub async fn state(&self, key: &str) -> &'static str {
        self.look_up(key).await.map_or("absent", |r| r.state.name())
    }

    /// The events of `key`, oldest first.
    pub async fn history(&self, key: &str) -> Vec<Event> {
        let events = self.store.history(self.identity(key)).await;
        events.expect("the store answers")
    }

    /// The names of the events of `key`, oldest first.
    pub async fn event_names(&self, key: &str) -> Vec<&'static str> {
        let events = self.history(key).await;
        events.iter().map(|event| event.kind.name()).collect()
    }

    /// The newest records of this test in `state`, or in any.
    pub async fn listed(&self, state: impl Into<Option<StateFilter>>) -> Vec<Record> {
        let query = Query {
            state: state.into(),
            tenant: Some(self.tenant.clone()),
            ..Query::default()
        };
        let page = self.store.list(query).await;
        page.expect("the store answers").records
    }

    /// Their keys.
    pub async fn listed_keys(&self, state: impl Into<Option<StateFilter>>) -> Vec<String> {
        let records = self.listed(state).await.into_iter();
        let keys = records.map(|record| record.identity.key().as_str().to_owned());
        keys.collect()
    }

    /// Sweeps until nothing is left to do; returns how many records went.
    pub async fn sweep_all(&self) -> usize {
        let mut gone = 0;
        loop {
            let swept = self.store.sweep(64).await.expect("the store answers");
            gone += swept.deleted + swept.archived;
            if !swept.more {
                return gone;
            }
        }
    }
}

/// The usual lease: long enough that no test outlives it by accident on a real clock.
pub(super) fn lease() -> LeaseTerm {
    LeaseTerm::new(Duration::from_millis(1_500)).expect("a valid term")
}

/// A lease that no test outlives.
pub(super) fn long_lease() -> LeaseTerm {
    LeaseTerm::new(Duration::from_secs(600)).expect("a valid term")
}

/// A little longer than the usual lease.
pub(super) const PAST_LEASE: Duration = Duration::from_millis(1_600);

/// A retention that no test outlives.
pub(super) fn retention() -> Retention {
    Retention::delete_after(Duration::from_secs(3_600)).expect("a valid retention")
}

/// A retention that tests wait out.
pub(super) fn short_retention() -> Retention {
    Retention::delete_after(Duration::from_millis(400)).expect("a valid retention")
}

/// A little longer than the short retention.
pub(super) const PAST_RETENTION: Duration = Duration::from_millis(500);

/// The `number`-th fingerprint.
pub(super) fn print(number: u8) -> Fingerprint {
    Fingerprint::of_bytes(&[number])
}

/// The answers to `calls` that are made at once, each in a task of its own.
pub(super) async fn at_once<F>(calls: usize, call: impl Fn(usize) -> F) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for number in 0..calls {
        tasks.spawn(call(number));
    }
    tasks.join_all().await
}

/// How many of the answers are grants.
pub(super) fn grants(answers: &[ClaimAnswer]) -> usize {
    let is_grant = |answer: &&ClaimAnswer| matches!(answer, ClaimAnswer::Granted(_));
    answers.iter().filter(is_grant).count()
}

/// The lease of an answer that must be a grant.
#[track_caller]
pub(super) fn granted(answer: ClaimAnswer) -> Lease {
    match answer {
        ClaimAnswer::Granted(lease) => lease,
        other => panic!("expected a grant, found {other:?}"),
    }
}

/// The body of an answer that must be a replay.
#[track_caller]
pub(super) fn replayed(answer: &ClaimAnswer) -> &[u8] {
    match answer {
        ClaimAnswer::Settled(record) => body(record),
        other => panic!("expected a replay, found {other:?}"),
    }
}

/// The body of a record that must be settled.
#[track_caller]
pub(super) fn body(record: &Record) -> &[u8] {
    match &record.state {
        semel_core::State::Settled(settled) => settled.outcome.body.kept().expect("a kept body"),
        other => panic!("expected a settled record, found {other:?}"),
    }
}
