//! A hybrid of any two stores holds to the suite that every store is held to.

use std::path::Path;
use std::sync::Arc;

use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_hybrid::Hybrid;
use semel_sqlite::Config;
use semel_testkit::conformance::{Ability, Handle, Subject};
use tempfile::TempDir;

/// A directory for files, and configurations of files in it that share one clock.
struct Files(TempDir, Arc<ManualClock>);

impl Files {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
        Self(dir, Arc::new(clock))
    }

    fn config(&self, name: &str) -> Config {
        let config = Config::new(self.0.path().join(name));
        config.clock(self.1.clone()).sweep_every(None)
    }
}

/// A connection that holds up every other writer of a file.
fn locked(path: &Path) -> rusqlite::Connection {
    let writer = rusqlite::Connection::open(path).expect("the file opens");
    let locked = writer.execute_batch("BEGIN IMMEDIATE");
    locked.expect("the file is not being written");
    writer
}

mod sqlite_and_sqlite {
    use super::*;

    async fn fresh() -> Subject {
        let files = Files::new();
        let [fast, durable] = ["claims.db", "outcomes.db"].map(|name| files.config(name));
        let open = move || {
            let stores = [&fast, &durable].map(|config| config.clone().open());
            let [fast, durable] = stores.map(|store| Arc::new(store.expect("the file opens")));
            std::future::ready(Handle::of(Hybrid::new(fast, durable)))
        };
        let paths = ["claims.db", "outcomes.db"].map(|name| files.0.path().join(name));
        let hold_up = move || std::future::ready(paths.each_ref().map(|path| locked(path)));
        let subject = Subject::opened(open).await.moved_by(files.1.clone());
        let subject = subject.stalled_by(hold_up).keeping(files);
        subject.declining(&[Ability::Outcomes])
    }

    semel_testkit::conformance!("hybrid of SQLite and SQLite", fresh().await);
    semel_testkit::conformance_with_clock!("hybrid of SQLite and SQLite", fresh().await);
    semel_testkit::conformance_of_sharing!("hybrid of SQLite and SQLite", fresh().await);
    semel_testkit::conformance_of_durability!("hybrid of SQLite and SQLite", fresh().await);
    semel_testkit::conformance_of_stalls!("hybrid of SQLite and SQLite", fresh().await);
}

mod memory_and_sqlite {
    use super::*;

    /// Its claims are gone with its one handle.
    fn fresh() -> Subject {
        let files = Files::new();
        let clock = files.1.clone();
        let durable = files.config("outcomes.db").open().expect("the file opens");
        let fast = Arc::new(MemoryStore::with_clock(clock.clone()));
        let hybrid = Hybrid::new(fast, Arc::new(durable));
        let declined = [Ability::Outcomes, Ability::Reopening, Ability::Stalls];
        let subject = Subject::on_clock(Arc::new(hybrid), clock);
        subject.declining(&declined).keeping(files)
    }

    semel_testkit::conformance!("hybrid of memory and SQLite", fresh());
    semel_testkit::conformance_with_clock!("hybrid of memory and SQLite", fresh());
}
