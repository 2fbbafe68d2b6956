//! Files: from an older version, left by a dead process, shared.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, params};
use semel_core::inbox::{Finished, Receipt, State};
use semel_core::{Fence, Inbox, Timestamp};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, LEASE, completed, identity, message, open};

/// A file as version 2 of the schema left it, with a settled record of this consumer.
fn file_of_version_two(fixture: &Fixture, id: &str) -> std::path::PathBuf {
    let path = fixture.dir.path().join("old.db");
    let connection = Connection::open(&path).unwrap();
    for migration in [
        include_str!("../../migrations/0001_records.sql"),
        include_str!("../../migrations/0002_bars.sql"),
        "INSERT INTO semel_meta VALUES ('schema_version', 2)",
    ] {
        connection.execute_batch(migration).unwrap();
    }
    let (identity, print) = (identity(id), message(id).fingerprint());
    let digest = identity.digest().short();
    let sql = "INSERT INTO semel_keys VALUES (?1, 7)";
    connection.execute(sql, params![digest]).unwrap();
    let sql = "INSERT INTO semel_claims VALUES (7, 'public', 'mailer', 1, ?1, ?2, 1, 1)";
    connection
        .execute(sql, params![id, print.as_bytes()])
        .unwrap();
    let sql = "INSERT INTO semel_outcomes VALUES (7, ?1, 1, 1, 0, 0, NULL, NULL, NULL, NULL)";
    connection.execute(sql, params![i64::MAX]).unwrap();
    path
}

#[tokio::test]
async fn a_file_of_the_version_before_gets_an_inbox_and_its_records_suppress() {
    let mut fixture = Fixture::new();
    let path = file_of_version_two(&fixture, "old");
    fixture.store = open(path, &fixture.clock);
    let receipts = fixture.receive(vec![message("old"), message("new")]).await;
    let (completed_before, received) = (State::Completed, State::Received);
    let expected = [
        Receipt::duplicate(completed_before),
        Receipt::Stored { state: received },
    ];
    let receipts: Vec<_> = receipts.into_iter().map(Receipt::brief).collect();
    assert_eq!(receipts, expected);
    let job = fixture.claim_one().await;
    assert!(job.claim.fence > Fence::new(7));
    assert_eq!(fixture.finish(&job, completed()).await, Finished::Done);
}

#[tokio::test]
async fn work_fences_and_leases_survive_a_restart() {
    let mut fixture = Fixture::new();
    fixture.receive(vec![message("a"), message("b")]).await;
    let before = fixture.claim().await;
    assert_eq!(before.len(), 2);
    assert_eq!(
        fixture.finish(&before[1], completed()).await,
        Finished::Done
    );

    // The clock was set back while nobody ran: time goes on from where the file left it, also for who only asks.
    fixture.clock.set(Timestamp::from_millis(1_000));
    fixture.store = open(fixture.path(), &fixture.clock);
    assert!(fixture.claim().await.is_empty());
    fixture.receive(vec![message("c")]).await;
    let after = fixture.claim_one().await;
    assert_eq!(*after.message, message("c"));
    assert!(after.claim.fence > before[1].claim.fence);
    assert!(after.claimed_at >= before[0].claimed_at);

    fixture.clock.advance(LEASE * 2);
    let reclaimed = fixture.claim().await;
    let first = reclaimed.iter().find(|job| *job.message == message("a"));
    assert!(first.is_some_and(|job| job.reclaimed && job.attempt == 2));
    assert_eq!(
        fixture.finish(&before[0], completed()).await,
        Finished::Lost
    );
}

#[tokio::test]
async fn a_fence_is_not_drawn_again_after_all_messages_are_gone() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("a")]).await;
    let first = fixture.claim_one().await;
    fixture.finish(&first, completed()).await;
    fixture.clock.advance(crate::fixture::KEEP * 2);
    fixture.sweep_all().await;
    assert_eq!(fixture.count("semel_messages"), 0);
    assert_eq!(fixture.count("semel_claims"), 0);
    fixture.receive(vec![message("a")]).await;
    let second = fixture.claim_one().await;
    assert!(second.claim.fence > first.claim.fence);
}

#[tokio::test]
async fn two_handles_on_one_file_share_the_work() {
    const MESSAGES: usize = 300;
    let fixture = Fixture::new();
    let other = Fixture {
        store: open(fixture.path(), &fixture.clock),
        dir: tempfile::tempdir().unwrap(),
        clock: fixture.clock.clone(),
        plan: fixture.plan.clone(),
    };
    let ids: Vec<String> = (0..MESSAGES).map(|n| format!("m-{n}")).collect();
    fixture
        .receive(ids.iter().map(|id| message(id)).collect())
        .await;
    let mut workers = JoinSet::new();
    for fixture in [Arc::new(fixture), Arc::new(other)] {
        for _ in 0..4 {
            let fixture = fixture.clone();
            workers.spawn(async move { fixture.process_all().await });
        }
    }
    let done = workers.join_all().await.concat();
    let distinct: BTreeSet<&String> = done.iter().collect();
    assert_eq!((done.len(), distinct.len()), (MESSAGES, MESSAGES));
}

#[tokio::test]
async fn those_who_find_nothing_do_not_wait_for_writers() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("a")]).await;
    fixture.claim_one().await;
    let other = fixture.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(fixture.claim().await.is_empty());
    assert!(fixture.detail("a").await.is_some());
    assert_eq!(fixture.store.counts().await.unwrap()[0].in_progress, 1);
    other.execute_batch("ROLLBACK").unwrap();
}
