//! Clocks that are wrong, and machines that were off: `semel_core::clock` has the rule.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use semel_core::clock::{DOUBT_FOR, Doubt};
use semel_core::record::Claim;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, StoreExt, StoreObserver, Swept,
    Takeover,
};
use semel_core::{
    Clock, Error, Fingerprint, Identity, LeaseTerm, ManualClock, Outcome, Retention, Store,
    Timestamp,
};
use semel_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A machine with one wall clock and one file.
struct Machine {
    dir: TempDir,
    wall_ms: Arc<AtomicI64>,
}

/// A process: what it read from the wall clock when it started, carried forward by its monotonic clock.
struct Process {
    store: SqliteStore,
    clock: Arc<ProcessClock>,
    doubts: Arc<Doubts>,
}

#[derive(Debug)]
struct ProcessClock {
    monotonic: ManualClock,
    wall_ms: Arc<AtomicI64>,
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        self.monotonic.now()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(self.wall_ms.load(Ordering::SeqCst))
    }
}

/// What a watch was told about the clock.
#[derive(Default)]
struct Doubts(Mutex<Vec<Option<Doubt>>>);

impl StoreObserver for Doubts {
    fn committed(&self, _: usize, _: Duration) {}
    fn lease_ended(&self, _: &Claim) {}
    fn swept(&self, _: Result<&Swept, &Error>) {}
    fn clock_doubted(&self, doubt: Option<Doubt>) {
        self.0.lock().unwrap().push(doubt);
    }
}

impl Machine {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            wall_ms: Arc::new(AtomicI64::new(START.as_millis())),
        }
    }

    fn set_wall(&self, at: Timestamp) {
        self.wall_ms.store(at.as_millis(), Ordering::SeqCst);
    }

    fn start(&self) -> Process {
        let wall = Timestamp::from_millis(self.wall_ms.load(Ordering::SeqCst));
        let clock = Arc::new(ProcessClock {
            monotonic: ManualClock::at(wall),
            wall_ms: self.wall_ms.clone(),
        });
        let doubts = Arc::<Doubts>::default();
        let store = Config::new(self.path())
            .clock(clock.clone())
            .watch(doubts.clone())
            .sweep_every(None)
            .open()
            .unwrap();
        Process {
            store,
            clock,
            doubts,
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("semel.db")
    }

    /// Time passes for the machine and these processes.
    fn pass(&self, duration: Duration, processes: &[&Process]) {
        let ms = i64::try_from(duration.as_millis()).unwrap();
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        for process in processes {
            process.clock.monotonic.advance(duration);
        }
    }
}

impl Process {
    async fn claim(&self, key: &str) -> ClaimAnswer {
        let request = ClaimRequest {
            identity: identity(key),
            fingerprint: Fingerprint::none(),
            lease: LeaseTerm::default(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        };
        self.store.claim_one(request).await.unwrap()
    }

    async fn settle(&self, key: &str) {
        let ClaimAnswer::Granted(lease) = self.claim(key).await else {
            panic!("expected a grant of {key}");
        };
        let request = SettleRequest {
            claim: lease.claim,
            outcome: Outcome::succeeded("done"),
            took: Duration::ZERO,
            retention: Retention::delete_after(DAY).unwrap(),
        };
        let settled = self.store.settle_one(request).await.unwrap();
        assert_eq!(settled, SettleAnswer::Settled);
    }

    async fn sweep(&self) {
        while self.store.sweep(100).await.unwrap().more {}
    }

    /// Whether the key is settled, to claims and to look-ups.
    async fn is_kept(&self, key: &str) -> bool {
        let found = self.store.look_up_one(identity(key)).await.unwrap();
        let is_found = found.is_some();
        if is_found {
            assert!(matches!(self.claim(key).await, ClaimAnswer::Settled(_)));
        }
        is_found
    }
}

fn identity(key: &str) -> Identity {
    Identity::parse("t", "clocks@1", key).unwrap()
}

#[tokio::test]
async fn a_clock_that_is_days_ahead_at_the_start_ends_no_retention() {
    let machine = Machine::new();
    machine.start().settle("old").await;
    machine.set_wall(START.after(DAY * 3));
    let wrong = machine.start();
    assert!(wrong.is_kept("old").await);
    wrong.settle("new").await;
    wrong.sweep().await;
    assert!(wrong.is_kept("old").await);
    assert_eq!(wrong.store.clock_doubt().unwrap().by, DAY * 3);

    // It is set right while the process runs.
    machine.set_wall(START.after(MINUTE));
    wrong.sweep().await;
    assert_eq!(wrong.store.now().since(START), Duration::ZERO);
    assert_eq!(wrong.store.clock_doubt(), None);
    assert!(wrong.is_kept("old").await && wrong.is_kept("new").await);
    let told = wrong.doubts.0.lock().unwrap().clone();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].is_some() && told[1].is_none());
    drop(wrong);

    // What was written meanwhile has not moved the file's time.
    let right = machine.start();
    assert_eq!(right.store.clock_doubt(), None);
    right.settle("next").await;
    assert_eq!(right.store.now(), START.after(MINUTE));
    machine.pass(DAY, &[&right]);
    right.sweep().await;
    assert!(!right.is_kept("old").await);
}

#[tokio::test]
async fn a_clock_that_was_set_right_between_two_starts_has_done_no_harm() {
    let machine = Machine::new();
    machine.start().settle("old").await;
    machine.set_wall(START.after(DAY * 3));
    let wrong = machine.start();
    wrong.settle("new").await;
    drop(wrong);
    machine.set_wall(START.after(MINUTE));
    let right = machine.start();
    right.settle("next").await;
    assert_eq!(right.store.now(), START.after(MINUTE));
    right.sweep().await;
    assert!(right.is_kept("old").await);
}

#[tokio::test]
async fn a_machine_that_was_off_for_a_week_serves_at_once_and_forgets_a_day_later() {
    let machine = Machine::new();
    machine.start().settle("old").await;
    machine.set_wall(START.after(DAY * 7));
    let process = machine.start();
    process.settle("new").await;
    process.sweep().await;
    assert!(process.is_kept("old").await);
    machine.pass(DOUBT_FOR, &[&process]);
    process.sweep().await;
    process.sweep().await;
    assert_eq!(process.store.clock_doubt(), None);
    assert!(!process.is_kept("old").await);
}

#[tokio::test]
async fn a_store_that_is_served_but_not_used_knows_the_time_at_the_next_start() {
    let machine = Machine::new();
    let process = machine.start();
    process.settle("old").await;
    machine.pass(DAY * 3, &[&process]);
    process.sweep().await;
    assert!(!process.is_kept("old").await);
    drop(process);
    machine.pass(MINUTE, &[]);
    assert_eq!(machine.start().store.clock_doubt(), None);
}

#[tokio::test]
async fn a_clock_that_was_set_back_ends_leases_and_retention_in_their_time() {
    let machine = Machine::new();
    let process = machine.start();
    process.settle("old").await;
    process.claim("running").await;
    drop(process);
    machine.set_wall(Timestamp::from_millis(1_000));
    let process = machine.start();
    assert!(matches!(
        process.claim("running").await,
        ClaimAnswer::Running { .. }
    ));
    machine.pass(MINUTE, &[&process]);
    let answer = process.claim("running").await;
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }), "{answer:?}");
    assert!(process.is_kept("old").await);
    machine.pass(DAY, &[&process]);
    assert!(!process.is_kept("old").await);
}

#[tokio::test]
async fn a_process_that_starts_days_ahead_ends_no_lease_of_one_that_runs() {
    let machine = Machine::new();
    let right = machine.start();
    let ClaimAnswer::Granted(lease) = right.claim("running").await else {
        panic!("expected a grant");
    };
    // The wall clock is wrong just while the other one starts.
    machine.set_wall(START.after(DAY * 3));
    let wrong = machine.start();
    let answer = wrong.claim("running").await;
    assert!(matches!(answer, ClaimAnswer::Running { .. }), "{answer:?}");
    machine.set_wall(START);
    let renew = semel_core::store::RenewRequest {
        claim: lease.claim.clone(),
        lease: LeaseTerm::default(),
    };
    let renewed = right.store.renew_one(renew).await.unwrap();
    assert!(
        matches!(renewed, semel_core::store::RenewAnswer::Renewed(_)),
        "{renewed:?}"
    );
    for process in [&wrong, &right] {
        process.claim("another").await;
        assert_eq!(process.store.now(), START);
    }
    // The lease ends when it should, to both.
    machine.pass(MINUTE, &[&right, &wrong]);
    for process in [&right, &wrong] {
        let answer = process.claim("running").await;
        assert!(matches!(answer, ClaimAnswer::Unknown { .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn a_time_that_another_program_wrote_moves_no_process_that_runs() {
    let machine = Machine::new();
    let process = machine.start();
    process.settle("old").await;
    process.claim("wrong").await;
    let connection = Connection::open(machine.path()).unwrap();
    let sql = "UPDATE semel_claims SET claimed_ms = claimed_ms + 300000000 WHERE key = 'wrong'";
    connection.execute(sql, []).unwrap();
    process.sweep().await;
    assert!(process.is_kept("old").await);
    assert_eq!(process.store.now(), START);
    drop(process);
    // Nor the next one that starts.
    machine.pass(MINUTE, &[]);
    let next = machine.start();
    next.claim("next").await;
    assert_eq!(next.store.now(), START.after(MINUTE));
}
