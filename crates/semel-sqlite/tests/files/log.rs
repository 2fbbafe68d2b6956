//! The log beside the file: near its limit under writes, small again afterwards.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use semel_core::StoreExt;

use crate::{config, dir, open, request, settle};

#[tokio::test]
async fn the_log_stays_near_its_limit_under_writes() {
    let dir = dir();
    let store = Arc::new(config(&dir).wal_bytes(1024 * 1024).open().unwrap());
    let mut largest = 0;
    for round in 0..40 {
        let mut writes = tokio::task::JoinSet::new();
        for n in 0..50 {
            let store = store.clone();
            writes.spawn(
                async move { settle(&store, &format!("k-{round}-{n}"), vec![1; 2_000]).await },
            );
        }
        for answer in writes.join_all().await {
            answer.unwrap();
        }
        let log = fs::metadata(dir.path().join("semel.db-wal")).unwrap().len();
        largest = largest.max(log);
    }
    // Forty rounds write more than ten times this.
    assert!(largest < 6 * 1024 * 1024, "the log grew to {largest} bytes");
}

#[tokio::test]
async fn the_log_is_small_again_when_nothing_is_written() {
    let dir = dir();
    let store = open(&dir);
    for n in 0..50 {
        settle(&store, &format!("k-{n}"), vec![1; 20_000])
            .await
            .unwrap();
    }
    let log = || fs::metadata(dir.path().join("semel.db-wal")).unwrap().len();
    assert!(log() > 500_000, "found {}", log());
    let truncated = async {
        while log() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), truncated)
        .await
        .expect("the log is truncated");
    assert!(
        store
            .look_up_one(request("k-7").identity)
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_log_that_grew_behind_a_slow_reader_becomes_small_again_under_writes() {
    const LIMIT: u64 = 1024 * 1024;
    let dir = dir();
    let store = config(&dir).wal_bytes(LIMIT).open().unwrap();
    settle(&store, "k", b"first".to_vec()).await.unwrap();
    let reader = Connection::open(dir.path().join("semel.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |connection: &Connection| -> i64 {
        let sql = "SELECT count(*) FROM semel_claims";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(&reader), 1);
    let log = || fs::metadata(dir.path().join("semel.db-wal")).unwrap().len();
    let mut written = 0;
    while log() < 4 * LIMIT {
        let key = format!("behind-{written}");
        settle(&store, &key, vec![1; 20_000]).await.unwrap();
        written += 1;
    }
    reader.execute_batch("COMMIT").unwrap();
    let writes = async {
        while log() > 2 * LIMIT {
            let key = format!("after-{written}");
            settle(&store, &key, vec![1; 20_000]).await.unwrap();
            written += 1;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), writes)
        .await
        .expect("the log starts over");
}
