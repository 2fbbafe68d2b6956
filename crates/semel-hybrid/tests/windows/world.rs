//! A hybrid of two SQLite files, either of which can fail.

use std::sync::Arc;
use std::time::Duration;

use semel_core::record::{Claim, EventKind, Lease};
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, Query, Resolution, ResolveAnswer, ResolveRequest,
    SettleAnswer, SettleRequest, StateFilter, Takeover,
};
use semel_core::{
    Fingerprint, Identity, LeaseTerm, ManualClock, Outcome, Result, Retention, State, Store,
    StoreExt, Timestamp,
};
use semel_hybrid::Hybrid;
use semel_sqlite::Config;
use semel_testkit::faulty::{Call, Fault, Faulty};
use semel_testkit::gate::Gate;
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Longer than a lease, and than the renewal that comes with a settle.
pub(crate) const PAST_LEASE: Duration = Duration::from_secs(40);

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) fast: Arc<Faulty>,
    pub(crate) durable: Arc<Faulty>,
    pub(crate) hybrid: Arc<Hybrid>,
    /// Where calls stand still.
    pub(crate) gate: Gate,
    clock: Arc<ManualClock>,
    dir: Arc<TempDir>,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
        let durable = Self::open(&dir, "outcomes.db", &clock);
        Self::over(dir, clock, durable, "claims.db")
    }

    fn over(
        dir: Arc<TempDir>,
        clock: Arc<ManualClock>,
        durable: Arc<Faulty>,
        claims: &str,
    ) -> Self {
        let fast = Self::open(&dir, claims, &clock);
        let hybrid = Arc::new(Hybrid::new(fast.clone(), durable.clone()));
        Self {
            fast,
            durable,
            hybrid,
            gate: Gate::closed(),
            clock,
            dir,
        }
    }

    fn open(dir: &TempDir, name: &str, clock: &Arc<ManualClock>) -> Arc<Faulty> {
        let config = Config::new(dir.path().join(name)).clock(clock.clone());
        Faulty::keeping_outcomes(Arc::new(config.sweep_every(None).open().unwrap()))
    }

    /// The same durable store with a fast one that has forgotten everything, its fences included.
    pub(crate) fn forgetful(&self) -> Self {
        let (dir, clock) = (self.dir.clone(), self.clock.clone());
        Self::over(dir, clock, self.durable.clone(), "claims-again.db")
    }

    /// The call stands still before anything is done.
    pub(crate) fn gated(&self) -> Fault {
        Fault::Gated(self.gate.clone())
    }

    /// The call is done and stands still.
    pub(crate) fn gated_after(&self) -> Fault {
        Fault::GatedAfter(self.gate.clone())
    }

    pub(crate) fn pass(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    pub(crate) fn request(&self, key: &str) -> ClaimRequest {
        ClaimRequest {
            identity: identity(key),
            fingerprint: Fingerprint::of_bytes(b"asked"),
            lease: LeaseTerm::default(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        }
    }

    pub(crate) async fn claim(&self, key: &str) -> Result<ClaimAnswer> {
        self.hybrid.claim_one(self.request(key)).await
    }

    pub(crate) async fn take_over(&self, key: &str) -> Result<ClaimAnswer> {
        let takeover = Takeover::Allowed;
        self.hybrid
            .claim_one(ClaimRequest {
                takeover,
                ..self.request(key)
            })
            .await
    }

    pub(crate) async fn mistaken(&self, key: &str) -> Result<ClaimAnswer> {
        let fingerprint = Fingerprint::of_bytes(b"something else");
        self.hybrid
            .claim_one(ClaimRequest {
                fingerprint,
                ..self.request(key)
            })
            .await
    }

    pub(crate) async fn granted(&self, key: &str) -> Lease {
        granted(self.claim(key).await)
    }

    pub(crate) async fn settle(&self, claim: &Claim, body: &str) -> Result<SettleAnswer> {
        let request = SettleRequest {
            claim: claim.clone(),
            outcome: Outcome::succeeded(body.to_owned()),
            took: Duration::from_millis(5),
            retention: Retention::default(),
        };
        self.hybrid.settle_one(request).await
    }

    pub(crate) async fn settled(&self, key: &str, body: &str) -> Claim {
        let claim = self.granted(key).await.claim;
        let settled = self.settle(&claim, body).await;
        assert_eq!(settled.unwrap(), SettleAnswer::Settled);
        claim
    }

    pub(crate) async fn resolve(
        &self,
        claim: &Claim,
        resolution: Resolution,
    ) -> Result<ResolveAnswer> {
        let request = ResolveRequest {
            claim: claim.clone(),
            by: Actor::new("a person").unwrap(),
            resolution,
            reason: None,
        };
        self.hybrid.resolve_one(request).await
    }

    pub(crate) async fn state(&self, key: &str) -> &'static str {
        state(self.hybrid.as_ref(), key).await
    }

    pub(crate) async fn late_bodies(&self, key: &str) -> Vec<String> {
        let events = self.hybrid.history(identity(key)).await.unwrap();
        let late = events.into_iter().filter_map(|event| match event.kind {
            EventKind::LateOutcome(outcome) => Some(outcome.body.kept().unwrap().to_vec()),
            _ => None,
        });
        late.map(|body| String::from_utf8(body).unwrap()).collect()
    }

    pub(crate) async fn event_names(&self, key: &str) -> Vec<&'static str> {
        let events = self.hybrid.history(identity(key)).await.unwrap();
        events.iter().map(|event| event.kind.name()).collect()
    }

    /// Who decided about `key`, in the order of their decisions.
    pub(crate) async fn deciders(&self, key: &str) -> Vec<String> {
        let events = self.hybrid.history(identity(key)).await.unwrap();
        let by = events.into_iter().filter_map(|event| match event.kind {
            EventKind::Resolved { by, .. } => Some(by),
            _ => None,
        });
        by.collect()
    }

    pub(crate) async fn hybrid_sweeps(&self) {
        self.hybrid.sweep(100).await.unwrap();
    }

    /// Unknown operations as they are listed, and as they are counted.
    pub(crate) async fn unknowns(&self) -> (usize, u64) {
        let query = Query {
            state: Some(StateFilter::Unknown),
            ..Query::default()
        };
        let listed = self.hybrid.list(query).await.unwrap().records.len();
        (listed, self.hybrid.stats().await.unwrap().unknown)
    }

    /// Settles in a process that stands still where `store` does so.
    pub(crate) async fn settling_until(
        &self,
        store: &Faulty,
        call: Call,
        fault: Fault,
        (claim, body): (&Claim, &str),
    ) -> JoinHandle<Result<SettleAnswer>> {
        store.next(call, fault);
        let (world, claim, body) = (self.clone(), claim.clone(), body.to_owned());
        let process = tokio::spawn(async move { world.settle(&claim, &body).await });
        self.gate.reached().await;
        process
    }
}

/// The process dies: what it was about to do is never done.
pub(crate) async fn kill<T>(process: JoinHandle<T>) {
    process.abort();
    assert!(process.await.is_err_and(|error| error.is_cancelled()));
}

pub(crate) async fn state(store: &dyn Store, key: &str) -> &'static str {
    let found = store.look_up_one(identity(key)).await.unwrap();
    found.map_or("absent", |record| record.state.name())
}

pub(crate) fn identity(key: &str) -> Identity {
    Identity::parse("acme", "payments@1", key).unwrap()
}

#[track_caller]
pub(crate) fn granted(answer: Result<ClaimAnswer>) -> Lease {
    match answer {
        Ok(ClaimAnswer::Granted(lease)) => lease,
        other => panic!("expected a grant, found {other:?}"),
    }
}

#[track_caller]
pub(crate) fn replayed(answer: Result<ClaimAnswer>) -> String {
    let Ok(ClaimAnswer::Settled(record)) = answer else {
        panic!("expected a replay, found {answer:?}");
    };
    let State::Settled(settled) = &record.state else {
        panic!("expected a settled record, found {record:?}");
    };
    String::from_utf8(settled.outcome.body.kept().unwrap().to_vec()).unwrap()
}
