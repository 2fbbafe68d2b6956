//! The embedded store holds to the suite that every store is held to, and so it does behind the read cache.

use std::sync::Arc;

use semel_core::{Cached, ManualClock, Timestamp};
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::conformance::{Ability, Handle, Subject};

/// A fresh file, opened by `handle`.
async fn fresh(handle: fn(SqliteStore) -> Handle) -> Subject {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let path = dir.path().join("semel.db");
    let config = Config::new(&path).clock(clock.clone()).sweep_every(None);
    let open = move || {
        let store = config.clone().open().expect("the store opens");
        std::future::ready(handle(store))
    };
    let hold_up = move || {
        let writer = rusqlite::Connection::open(&path).expect("the file opens");
        let locked = writer.execute_batch("BEGIN IMMEDIATE");
        locked.expect("the file is not being written");
        std::future::ready(writer)
    };
    let subject = Subject::opened(open).await.moved_by(clock);
    subject.stalled_by(hold_up).keeping(dir)
}

mod plain {
    use super::*;

    async fn fresh() -> Subject {
        super::fresh(Handle::with_outcomes).await
    }

    semel_testkit::conformance!("SQLite", fresh().await);
    semel_testkit::conformance_with_clock!("SQLite", fresh().await);
    semel_testkit::conformance_of_outcomes!("SQLite", fresh().await);
    semel_testkit::conformance_of_sharing!("SQLite", fresh().await);
    semel_testkit::conformance_of_durability!("SQLite", fresh().await);
    semel_testkit::conformance_of_durable_outcomes!("SQLite", fresh().await);
    semel_testkit::conformance_of_stalls!("SQLite", fresh().await);
}

mod cached {
    use super::*;

    async fn fresh() -> Subject {
        let cached = |store| Handle::of(Cached::new(Arc::new(store), 1024 * 1024));
        super::fresh(cached).await.declining(&[Ability::Outcomes])
    }

    semel_testkit::conformance!("SQLite, cached", fresh().await);
    semel_testkit::conformance_with_clock!("SQLite, cached", fresh().await);
    semel_testkit::conformance_of_sharing!("SQLite, cached", fresh().await);
    semel_testkit::conformance_of_durability!("SQLite, cached", fresh().await);
    semel_testkit::conformance_of_stalls!("SQLite, cached", fresh().await);
}
