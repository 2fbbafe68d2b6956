//! The one thread that writes: bad items, callers that have gone, a watch that panics.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rusqlite::Connection;
use semel_core::record::{Claim, Lease};
use semel_core::store::{
    ClaimAnswer, ClaimRequest, RenewAnswer, RenewRequest, SettleAnswer, SettleRequest, StoreExt,
    StoreObserver, Swept, Takeover,
};
use semel_core::{
    Error, Fingerprint, Identity, Kind, LeaseTerm, ManualClock, Outcome, Retention, State, Store,
    Timestamp,
};
use semel_sqlite::{Config, SqliteStore};
use tempfile::TempDir;
use tokio::task::JoinSet;

/// How long a test waits for what must come by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// A store whose clock stands still, so that no lease ends by itself.
struct Desk {
    dir: TempDir,
    store: Arc<SqliteStore>,
    clock: Arc<ManualClock>,
    seen: Arc<Seen>,
}

/// How many calls each commit carried, and what the sweep could not do.
#[derive(Default)]
struct Seen {
    commits: Mutex<Vec<usize>>,
    troubles: Mutex<Vec<String>>,
}

impl StoreObserver for Seen {
    fn committed(&self, calls: usize, _: Duration) {
        self.commits.lock().unwrap().push(calls);
    }

    fn lease_ended(&self, _: &Claim) {}

    fn swept(&self, step: Result<&Swept, &Error>) {
        if let Err(error) = step {
            self.troubles.lock().unwrap().push(error.to_string());
        }
    }
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
        let seen = Arc::<Seen>::default();
        let config = Config::new(dir.path().join("semel.db"))
            .clock(clock.clone())
            .watch(seen.clone())
            .busy_timeout(PATIENCE)
            .sweep_every(None);
        Self {
            store: Arc::new(config.open().unwrap()),
            dir,
            clock,
            seen,
        }
    }

    fn connection(&self) -> Connection {
        Connection::open(self.dir.path().join("semel.db")).unwrap()
    }

    /// Holds SQLite's write lock: the writer waits for it with the first call, and the others queue.
    fn locked(&self) -> Connection {
        let connection = self.connection();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }

    async fn granted(&self, key: &str) -> Lease {
        match self.store.claim_one(request(key)).await.unwrap() {
            ClaimAnswer::Granted(lease) => lease,
            other => panic!("expected a grant of {key}, found {other:?}"),
        }
    }

    async fn state(&self, key: &str) -> Option<State> {
        let found = self.store.look_up_one(request(key).identity).await;
        found.unwrap().map(|record| record.state.clone())
    }
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("t", "writing@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

fn settle(claim: Claim) -> SettleRequest {
    SettleRequest {
        claim,
        outcome: Outcome::succeeded("done"),
        took: Duration::ZERO,
        retention: Retention::delete_after(Duration::from_secs(60)).unwrap(),
    }
}

/// Polls once, as a caller does who then goes away.
fn polled_once<F: Future + Unpin>(future: &mut F) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(
        std::pin::Pin::new(future).poll(&mut context),
        Poll::Ready(_)
    )
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    waited.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn an_item_that_cannot_be_read_costs_its_caller_an_error_and_nobody_a_commit() {
    let desk = Desk::new();
    let bad = desk.granted("bad").await;
    let sql = "UPDATE semel_leases SET since_ms = 1, cause = 'nonsense'";
    desk.connection().execute(sql, []).unwrap();
    let other = desk.locked();
    let mut calls = JoinSet::new();
    for n in 0..100 {
        let (store, claim) = (desk.store.clone(), bad.claim.clone());
        let mut call = Box::pin(async move {
            if n % 10 == 0 {
                let error = store.settle_one(settle(claim)).await.unwrap_err();
                assert_eq!(error.kind(), Kind::Damaged, "{error}");
            } else {
                let answer = store.claim_one(request(&format!("good-{n}"))).await;
                assert!(matches!(answer.unwrap(), ClaimAnswer::Granted(_)));
            }
        });
        assert!(!polled_once(&mut call), "it is queued");
        calls.spawn(call);
    }
    assert_commits_few(&desk, &other, calls).await;
}

#[tokio::test]
async fn an_item_that_fails_half_way_leaves_nothing_and_costs_nobody_a_commit() {
    let desk = Desk::new();
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON semel_leases \
                   WHEN (SELECT key FROM semel_claims WHERE fence = NEW.fence) GLOB 'bad-*' \
                   BEGIN SELECT RAISE(ABORT, 'on purpose'); END";
    desk.connection().execute_batch(trigger).unwrap();
    let other = desk.locked();
    let mut calls = JoinSet::new();
    for n in 0..100 {
        let store = desk.store.clone();
        let mut call = Box::pin(async move {
            let bad = n % 10 == 0;
            let key = format!("{}-{n}", if bad { "bad" } else { "good" });
            let answer = store.claim_one(request(&key)).await;
            assert_eq!(answer.is_err(), bad, "{key}: {answer:?}");
        });
        assert!(!polled_once(&mut call), "it is queued");
        calls.spawn(call);
    }
    assert_commits_few(&desk, &other, calls).await;
    assert_eq!(desk.state("bad-0").await, None);
    assert!(desk.state("good-1").await.is_some());
    let sql = "SELECT count(*) FROM semel_claims WHERE key GLOB 'bad-*'";
    let left: i64 = desk
        .connection()
        .query_row(sql, [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
    // Fences of what was rolled back are drawn again, but none of them twice.
    let sql = "SELECT count(*) - count(DISTINCT fence) FROM semel_keys";
    let twice: i64 = desk
        .connection()
        .query_row(sql, [], |row| row.get(0))
        .unwrap();
    assert_eq!(twice, 0);
}

/// All calls are answered by a few commits: what the writer had taken when it was locked out, and the rest.
async fn assert_commits_few(desk: &Desk, other: &Connection, calls: JoinSet<()>) {
    let before = desk.seen.commits.lock().unwrap().len();
    other.execute_batch("ROLLBACK").unwrap();
    calls.join_all().await;
    let commits = desk.seen.commits.lock().unwrap()[before..].to_vec();
    assert_eq!(commits.iter().sum::<usize>(), 100);
    assert!(commits.len() < 50, "{commits:?}");
}

#[tokio::test]
async fn one_item_of_a_batch_fails_and_the_others_are_done() {
    let desk = Desk::new();
    let claims = [desk.granted("bad").await, desk.granted("good").await];
    let sql = "UPDATE semel_leases SET since_ms = 1, cause = 'nonsense' WHERE fence = ?1";
    let bad = claims[0].claim.fence.get();
    desk.connection().execute(sql, [bad]).unwrap();
    let items = claims.into_iter().map(|lease| settle(lease.claim));
    let answers = desk.store.settle(items.collect()).await;
    assert_eq!(answers[0].as_ref().unwrap_err().kind(), Kind::Damaged);
    assert_eq!(*answers[1].as_ref().unwrap(), SettleAnswer::Settled);
}

#[tokio::test]
async fn the_sweep_reports_what_it_cannot_read_once_and_sweeps_the_rest() {
    let desk = Desk::new();
    for key in ["a-bad", "b-good", "c-good"] {
        let lease = desk.granted(key).await;
        desk.store.settle_one(settle(lease.claim)).await.unwrap();
        // So that the bad one is the first that expires.
        desk.clock.advance(Duration::from_millis(1));
    }
    desk.granted("d-bad").await;
    desk.granted("e-running").await;
    let connection = desk.connection();
    for key in ["a-bad", "d-bad"] {
        let sql = "UPDATE semel_claims SET fingerprint = x'00' WHERE key = ?1";
        connection.execute(sql, [key]).unwrap();
    }
    desk.clock.advance(Duration::from_secs(120));
    for expected in [2, 0] {
        let swept = desk.store.sweep(1_000).await.unwrap();
        assert_eq!(swept.deleted, expected);
        assert!(!swept.more);
    }
    assert!(matches!(
        desk.state("e-running").await,
        Some(State::Unknown { .. })
    ));
    let troubles = desk.seen.troubles.lock().unwrap().clone();
    assert_eq!(troubles.len(), 2, "{troubles:?}");
    let said = |part: &str| troubles.iter().all(|trouble| trouble.contains(part));
    assert!(said("the sweep passes over the record with fence"));
}

#[tokio::test]
async fn ended_leases_are_found_among_any_number_of_unknown_outcomes() {
    let desk = Desk::new();
    let lease = desk.granted("old").await;
    let connection = desk.connection();
    let sql = "WITH RECURSIVE n(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM n WHERE n < 9000) \
               INSERT INTO semel_leases (fence, until_ms, since_ms, cause) \
               SELECT n, 1, 1, 'lease-ended' FROM n";
    connection.execute(sql, []).unwrap();
    desk.clock.advance(Duration::from_secs(120));
    let mut steps = 0;
    while desk.store.sweep(100).await.unwrap().leases_ended == 0 {
        steps += 1;
        assert!(steps < 10, "the walk does not come by");
    }
    let answer = desk.store.settle_one(settle(lease.claim)).await.unwrap();
    assert_eq!(answer, SettleAnswer::Late);
}

#[tokio::test]
async fn calls_whose_caller_has_gone_are_left_out_unless_they_bring_an_outcome() {
    let desk = Desk::new();
    let running = desk.granted("running").await;
    let done = desk.granted("done").await;
    let other = desk.locked();
    let mut claim = Box::pin(desk.store.claim_one(request("gone")));
    let renew = RenewRequest {
        claim: running.claim.clone(),
        lease: LeaseTerm::new(Duration::from_secs(3_600)).unwrap(),
    };
    let mut renew = Box::pin(desk.store.renew_one(renew));
    let mut settle = Box::pin(desk.store.settle_one(settle(done.claim)));
    assert!(!polled_once(&mut claim) && !polled_once(&mut renew) && !polled_once(&mut settle));
    drop((claim, renew, settle));
    other.execute_batch("ROLLBACK").unwrap();
    // Calls are written in their order, so those before this one have been dealt with.
    desk.granted("after").await;
    assert_eq!(desk.state("gone").await, None);
    let until = running.until;
    let expected = State::Running { lease_until: until };
    assert_eq!(desk.state("running").await, Some(expected));
    assert!(matches!(desk.state("done").await, Some(State::Settled(_))));
}

#[tokio::test]
async fn a_claim_whose_caller_left_before_it_heard_is_given_back() {
    let desk = Desk::new();
    let mut claim = Box::pin(desk.store.claim_one(request("orphan")));
    assert!(!polled_once(&mut claim));
    until("the claim is granted", async || {
        desk.state("orphan").await.is_some()
    })
    .await;
    drop(claim);
    until("the claim is given back", async || {
        desk.state("orphan").await.is_none()
    })
    .await;
    let lease = desk.granted("orphan").await;
    assert_eq!(lease.attempt, 1);
    assert!(matches!(
        desk.store
            .renew_one(RenewRequest {
                claim: lease.claim,
                lease: LeaseTerm::default()
            })
            .await
            .unwrap(),
        RenewAnswer::Renewed(_)
    ));
}

/// A watch that fails at everything.
struct Panics;

impl StoreObserver for Panics {
    fn committed(&self, _: usize, _: Duration) {
        panic!("on purpose");
    }

    fn lease_ended(&self, _: &Claim) {
        panic!("on purpose");
    }

    fn swept(&self, _: Result<&Swept, &Error>) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_watch_that_panics_stops_neither_the_writer_nor_the_sweep() {
    let dir = tempfile::tempdir().unwrap();
    let store = Config::new(dir.path().join("semel.db"))
        .watch(Arc::new(Panics))
        .sweep_every(Some(Duration::from_millis(1)))
        .open()
        .unwrap();
    let working = async {
        for key in ["a", "b"] {
            let answer = store.claim_one(request(key)).await.unwrap();
            let ClaimAnswer::Granted(lease) = answer else {
                panic!("expected a grant");
            };
            let short = SettleRequest {
                retention: Retention::delete_after(Duration::from_millis(1)).unwrap(),
                ..settle(lease.claim)
            };
            store.settle_one(short).await.unwrap();
            while store.stats().await.unwrap().settled > 0 {
                tokio::task::yield_now().await;
            }
        }
    };
    let worked = tokio::time::timeout(PATIENCE, working).await;
    worked.expect("calls are answered and the sweep goes on");
}
