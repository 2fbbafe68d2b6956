//! Files as operators meet them: locked, damaged, from a newer version, full, left by a dead process.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod erasing;
mod log;
mod versions;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, StoreExt, Takeover,
};
use semel_core::{
    Fingerprint, Identity, Kind, LeaseTerm, ManualClock, Outcome, Retention, Store, Timestamp,
};
use semel_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("t", "files@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

fn open(dir: &TempDir) -> SqliteStore {
    config(dir).open().unwrap()
}

fn config(dir: &TempDir) -> Config {
    let config = Config::new(dir.path().join("semel.db"));
    config
        .busy_timeout(Duration::from_millis(100))
        .sweep_every(None)
}

async fn settle(store: &SqliteStore, key: &str, body: Vec<u8>) -> semel_core::Result<SettleAnswer> {
    let ClaimAnswer::Granted(lease) = store.claim_one(request(key)).await? else {
        panic!("expected a grant of {key}");
    };
    let request = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::succeeded(body),
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    store.settle_one(request).await
}

/// Holds SQLite's write lock, as another process would.
fn writer_elsewhere(dir: &TempDir) -> Connection {
    let connection = Connection::open(dir.path().join("semel.db")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[tokio::test]
async fn a_file_locked_by_another_process_is_a_clear_error_and_nothing_runs() {
    let dir = dir();
    let store = open(&dir);
    let other = writer_elsewhere(&dir);
    let error = store.claim_one(request("k")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Locked);
    assert!(error.is_retryable());
    assert!(error.to_string().contains("another process"), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    let answer = store.claim_one(request("k")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(lease) if lease.attempt == 1));
}

#[tokio::test]
async fn replays_do_not_queue_behind_writers() {
    let dir = dir();
    let store = open(&dir);
    settle(&store, "k", b"kept".to_vec()).await.unwrap();
    let other = writer_elsewhere(&dir);
    let answer = store.claim_one(request("k")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)));
    assert!(
        store
            .look_up_one(request("k").identity)
            .await
            .unwrap()
            .is_some()
    );
    drop(other);
}

#[test]
fn opening_a_file_that_is_held_exclusively_is_a_clear_error() {
    let dir = dir();
    drop(open(&dir));
    let other = Connection::open(dir.path().join("semel.db")).unwrap();
    other
        .pragma_update(None, "locking_mode", "exclusive")
        .unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; CREATE TABLE other (x); COMMIT")
        .unwrap();
    let error = config(&dir).open().unwrap_err();
    assert_eq!(error.kind(), Kind::Locked, "{error}");
}

fn assert_refused_unchanged(path: &Path, kind: Kind) {
    let before = fs::read(path).unwrap();
    let error = Config::new(path).open().unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(fs::read(path).unwrap(), before, "the file was changed");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = dir();
    let path = dir.path().join("notes.txt");
    fs::write(&path, "these are my notes, not a database\n".repeat(200)).unwrap();
    assert_refused_unchanged(&path, Kind::Damaged);
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_alone() {
    let dir = dir();
    let store = open(&dir);
    settle(&store, "k", b"kept".to_vec()).await.unwrap();
    drop(store);
    let path = dir.path().join("semel.db");
    let mut bytes = fs::read(&path).unwrap();
    // The first page holds the list of tables.
    bytes[100..2_000].fill(0xff);
    fs::write(&path, bytes).unwrap();
    assert_refused_unchanged(&path, Kind::Damaged);
}

#[test]
fn a_file_from_a_newer_version_is_refused_and_left_alone() {
    let dir = dir();
    drop(open(&dir));
    let path = dir.path().join("semel.db");
    let connection = Connection::open(&path).unwrap();
    let sql = "UPDATE semel_meta SET value = 99 WHERE name = 'schema_version'";
    connection.execute(sql, []).unwrap();
    drop(connection);
    let error = Config::new(&path).open().unwrap_err();
    assert_eq!(error.kind(), Kind::NewerVersion);
    assert!(error.to_string().contains("schema version 99"), "{error}");
    let connection = Connection::open(&path).unwrap();
    let version: i64 = connection
        .query_row(
            "SELECT value FROM semel_meta WHERE name = 'schema_version'",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_database_in_memory_is_refused() {
    let error = Config::new(":memory:").open().unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("write-ahead log"), "{error}");
}

#[test]
fn a_store_that_must_exist_is_not_created() {
    let dir = dir();
    let error = config(&dir).must_exist().open().unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(!dir.path().join("semel.db").exists());
}

#[test]
fn somebody_elses_database_is_left_alone_by_tools_that_only_look() {
    let dir = dir();
    let path = dir.path().join("semel.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE mine (x)").unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let error = config(&dir).must_exist().open().unwrap_err();
    assert!(error.to_string().contains("no Semel store"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before, "the file was changed");
}

#[tokio::test]
async fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    let dir = dir();
    let store = config(&dir).bytes_max(400_000).open().unwrap();
    let mut kept = 0;
    let error = loop {
        match settle(&store, &format!("k-{kept}"), vec![7; 4_000]).await {
            Ok(answer) => assert_eq!(answer, SettleAnswer::Settled),
            Err(error) => break error,
        }
        kept += 1;
        assert!(kept < 10_000, "the limit was never reached");
    };
    assert_eq!(error.kind(), Kind::DiskFull, "{error}");
    assert!(error.is_retryable());
    drop(store);

    let roomy = open(&dir);
    for n in 0..kept {
        let answer = roomy.claim_one(request(&format!("k-{n}"))).await.unwrap();
        assert!(matches!(answer, ClaimAnswer::Settled(_)), "k-{n} was lost");
    }
    settle(&roomy, "after", b"fine".to_vec()).await.unwrap();
}

#[tokio::test]
async fn records_fences_and_leases_survive_a_restart() {
    let dir = dir();
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let store = config(&dir).clock(clock.clone()).open().unwrap();
    settle(&store, "settled", b"kept".to_vec()).await.unwrap();
    let ClaimAnswer::Granted(running) = store.claim_one(request("running")).await.unwrap() else {
        panic!("expected a grant");
    };
    drop(store);

    // The clock was set back while nobody ran: time goes on from where the file left it.
    clock.set(Timestamp::from_millis(1_000));
    let store = config(&dir).clock(clock.clone()).open().unwrap();
    let answer = store.claim_one(request("settled")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)));
    let answer = store.claim_one(request("running")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }));
    clock.advance(LeaseTerm::default().get() + Duration::from_secs(1));
    let answer = store.claim_one(request("running")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }), "{answer:?}");
    let ClaimAnswer::Granted(next) = store.claim_one(request("next")).await.unwrap() else {
        panic!("expected a grant");
    };
    assert!(next.claim.fence > running.claim.fence);
}

#[tokio::test]
async fn the_background_sweep_deletes_what_has_expired() {
    let dir = dir();
    let config = config(&dir).sweep_every(Some(Duration::from_millis(5)));
    let store = config.open().unwrap();
    let ClaimAnswer::Granted(lease) = store.claim_one(request("k")).await.unwrap() else {
        panic!("expected a grant");
    };
    let request = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::succeeded("short-lived"),
        took: Duration::ZERO,
        retention: Retention::delete_after(Duration::from_millis(20)).unwrap(),
    };
    store.settle_one(request).await.unwrap();
    let swept = async {
        while store.stats().await.unwrap().settled > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), swept)
        .await
        .expect("the sweep comes by");
}

#[tokio::test]
async fn a_record_that_cannot_be_read_costs_nobody_else_anything() {
    let dir = dir();
    let store = Arc::new(open(&dir));
    let ClaimAnswer::Granted(bad) = store.claim_one(request("bad")).await.unwrap() else {
        panic!("expected a grant");
    };
    let connection = Connection::open(dir.path().join("semel.db")).unwrap();
    let sql = "UPDATE semel_leases SET since_ms = 1, cause = 'nonsense'";
    connection.execute(sql, []).unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..200 {
        let (store, claim) = (store.clone(), bad.claim.clone());
        calls.spawn(async move {
            if n % 20 > 0 {
                let settled = settle(&store, &format!("good-{n}"), b"fine".to_vec()).await;
                return assert_eq!(settled.unwrap(), SettleAnswer::Settled);
            }
            let request = SettleRequest {
                claim,
                outcome: Outcome::succeeded("of a record that cannot be read"),
                took: Duration::ZERO,
                retention: Retention::default(),
            };
            let error = store.settle_one(request).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Damaged, "{error}");
        });
    }
    calls.join_all().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_and_those_beside_it_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = dir();
    let store = open(&dir);
    settle(&store, "k", b"private".to_vec()).await.unwrap();
    for name in ["semel.db", "semel.db-wal", "semel.db-shm"] {
        let metadata = fs::metadata(dir.path().join(name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
    drop(store);
    // A mode that the owner has chosen stays.
    let path = dir.path().join("semel.db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    drop(open(&dir));
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_file_in_no_directory_is_a_clear_error() {
    let error = Config::new("/no/such/directory/semel.db")
        .open()
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
}

#[test]
fn stores_that_make_one_file_at_the_same_moment_all_open_it() {
    for _ in 0..200 {
        let dir = dir();
        let config = Config::new(dir.path().join("semel.db")).sweep_every(None);
        let start = std::sync::Barrier::new(2);
        let opened = std::thread::scope(|scope| {
            let open = || {
                start.wait();
                config.clone().open().map(drop)
            };
            let all: Vec<_> = (0..2).map(|_| scope.spawn(open)).collect();
            all.into_iter()
                .map(|one| one.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    }
}
