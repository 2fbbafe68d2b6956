//! A server on a SQLite store in a directory of its own, on a clock that stands still.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use semel_admin::alerts::{self, Board};
use semel_admin::view::Observed;
use semel_admin::{
    Admin, Config, Handle, Health, InboxPart, Metered, Metrics, Parts, Policies, Reconciling,
};
use semel_core::inbox::{Inbox, Order, Plan};
use semel_core::store::{Answer, Layer, Page, Query};
use semel_core::{Identity, ManualClock, Store, Timestamp};
use semel_http::observe::{Finding, Report};
use semel_http::{Event, RequestObserver, What};
use semel_inbox::Replay;
use semel_sqlite::SqliteStore;
use semel_testkit::faulty::Faulty;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::http::{self, Response};

/// Once in a test.
const RARELY: Duration = Duration::from_secs(3_600);

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) health: Health,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) handle: Handle,
    pub(crate) alerts: Board,
    pub(crate) reconciling: Reconciling,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    _dir: TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let server = Self::start_with(probing(RARELY), |store| store).await;
        // From now on the store is not asked again, so that its commits can be counted.
        assert_eq!(server.get("/readyz").await.status, 200);
        server
    }

    /// On a store that a test makes go wrong, and that is asked once whether it is well.
    pub(crate) async fn faulty() -> (Self, Arc<Faulty>) {
        Self::faulty_and_probed(RARELY).await
    }

    /// The same with a store that is asked so often.
    pub(crate) async fn faulty_and_probed(every: Duration) -> (Self, Arc<Faulty>) {
        let mut faulty = None;
        let around = |store| {
            let store = Faulty::new(store);
            faulty = Some(store.clone());
            store as Arc<dyn Store>
        };
        let server = Self::start_with(probing(every), around).await;
        // From now on the store is asked by the timer only.
        assert_eq!(server.get("/readyz").await.status, 200);
        (server, faulty.unwrap())
    }

    /// With alerts that are judged by these settings.
    pub(crate) async fn alerting(alerts: alerts::Settings) -> Self {
        Self::start_full(probing(RARELY), |store| store, alerts).await
    }

    /// With another configuration, on any port, and with something around the store.
    pub(crate) async fn start_with(
        config: Config,
        around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        Self::start_full(config, around, alerts::Settings::default()).await
    }

    /// On a store that lists one record at a time, so that the bounds of what goes page by page are met with few of them.
    pub(crate) async fn paging() -> Self {
        let short = |store| Arc::new(OneByOne(store)) as Arc<dyn Store>;
        Self::start_with(probing(RARELY), short).await
    }

    async fn start_full(
        config: Config,
        around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
        alerts: alerts::Settings,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_794_787_200_000)));
        let metrics = Arc::new(Metrics::new());
        let sqlite = Arc::new(open(&dir, &clock, &metrics));
        let store = around(sqlite.clone());
        let mut parts = Parts::new(Metered::new(store.clone(), metrics.clone()));
        parts.clock = clock.clone();
        parts.alerts = Board::new(alerts);
        let board = parts.alerts.clone();
        parts.observations = Some(Arc::new(observed));
        parts.inbox = Some(InboxPart {
            inbox: sqlite.clone(),
            policies: policies().into(),
        });
        let health = parts.health.clone();
        let reconciling = parts.reconciling.clone();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0)).into();
        let admin = Admin::bind(&Config { listen, ..config }, parts)
            .await
            .unwrap();
        let address = admin.address().tcp().unwrap();
        let handle = admin.handle();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(admin.serve(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            clock,
            metrics,
            health,
            store,
            inbox: sqlite,
            handle,
            alerts: board,
            reconciling,
            stop,
            served,
            _dir: dir,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        http::get(self.address, path).await
    }

    /// The same with a path that nobody else holds.
    pub(crate) async fn get_owned(&self, path: String) -> Response {
        self.get(&path).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        http::post(self.address, path, body).await
    }

    /// Claims `key` for acme's payments.
    pub(crate) async fn claim(&self, key: &str) -> Response {
        self.post("/api/v1/claims", about(key, json!({}))).await
    }

    /// Claims `key`, which must be granted, and gives its fence.
    pub(crate) async fn fence(&self, key: &str) -> u64 {
        let granted = self.claim(key).await;
        assert_eq!(granted.status, 201, "{granted:?}");
        granted.json()["fence"].as_u64().unwrap()
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Stops, and waits until the last request is answered.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.served.await.unwrap();
    }
}

/// Lists one record at a time.
#[derive(Debug)]
struct OneByOne(Arc<dyn Store>);

impl Layer for OneByOne {
    fn beneath(&self) -> &dyn Store {
        self.0.as_ref()
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        self.0.list(Query { limit: 1, ..query })
    }
}

fn probing(every: Duration) -> Config {
    Config {
        probe_every: every,
        ..Config::default()
    }
}

/// A consumer by sequence that may be replayed and is rebuilt then; all others are unknown.
pub(crate) fn policies() -> Policies {
    let mut plan = Plan::new("indexer@1".parse().unwrap());
    plan.order = Order::Sequence {
        baseline: Default::default(),
        on_gap: Default::default(),
        on_terminal: Default::default(),
    };
    let replay = Replay {
        allowed: true,
        rebuild: true,
        ..Replay::default()
    };
    Policies::new([(plan, replay)])
}

fn open(dir: &TempDir, clock: &Arc<ManualClock>, metrics: &Arc<Metrics>) -> SqliteStore {
    semel_sqlite::Config::new(dir.path().join("semel.db"))
        .clock(clock.clone())
        .watch(metrics.clone())
        .sweep_every(None)
        .open()
        .unwrap()
}

/// The identity of acme's payment `key`, and more fields.
pub(crate) fn about(key: &str, more: Value) -> Value {
    let mut body = json!({ "tenant": "acme", "scope": "payments@1", "key": key });
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    body
}

/// The same as a query.
pub(crate) fn query(key: &str) -> String {
    format!("tenant=acme&scope=payments@1&key={key}")
}

/// What a door in observe mode has seen: one mismatch.
fn observed() -> Observed {
    let report = Report::default();
    let identity = Identity::parse("acme", "payments@1", "k").unwrap();
    report.saw(&Event {
        scope: identity.scope(),
        identity: Some(&identity),
        what: What::Observed(Finding::Mismatch),
        status: 201,
        took: Duration::ZERO,
    });
    Observed::of(Timestamp::from_millis(0), report.rows())
}
