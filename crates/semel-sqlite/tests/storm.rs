//! Callers on several handles of one file while another program holds its write lock.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use semel_core::{OnUnknown, Once};
use semel_sqlite::Config;
use semel_testkit::storm::{Progress, Storm, policy};

/// A handle that does not wait long for a lock.
fn node(file: &Path, on_unknown: OnUnknown) -> Once {
    let config = Config::new(file).busy_timeout(Duration::from_millis(20));
    let store = config.open().expect("the store opens");
    Once::new(store).with_policy(policy(on_unknown))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_others_lock_refuses_and_nothing_runs_twice() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("semel.db");
        let nodes = vec![node(&file, on_unknown), node(&file, on_unknown)];
        let other = Connection::open(&file).expect("the file opens");
        let fault = async |progress: Progress| {
            progress.effects(5).await;
            while other.execute_batch("BEGIN IMMEDIATE").is_err() {
                tokio::task::yield_now().await;
            }
            progress.refused(10).await;
            other
                .execute_batch("ROLLBACK")
                .expect("the lock is given up");
        };
        let storm = Storm::new(30, 3);
        let tally = storm.rage(nodes, fault).await;
        tally.assert_once();
        assert!(tally.refused_unavailable >= 10);
        assert_eq!(tally.told_done + tally.unknown, 30);
    }
}
