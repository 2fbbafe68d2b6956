//! A hybrid of any two stores holds to the suite that every store is held to.

use std::path::Path;
use std::sync::Arc;

use semel_core::{Clock, ManualClock, MemoryStore, Store, Timestamp};
use semel_hybrid::Hybrid;
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::conformance::Subject;

fn sqlite(path: &Path, clock: Arc<dyn Clock>) -> Arc<SqliteStore> {
    let config = Config::new(path).clock(clock).sweep_every(None);
    Arc::new(config.open().expect("a new store opens"))
}

/// A hybrid that keeps outcomes in SQLite; both stores share one clock.
fn fresh(fast: impl FnOnce(&Path, Arc<ManualClock>) -> Arc<dyn Store>) -> Subject {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let fast = fast(dir.path(), clock.clone());
    let durable = sqlite(&dir.path().join("outcomes.db"), clock.clone());
    let hybrid = Hybrid::new(fast, durable);
    Subject::on_clock(Arc::new(hybrid), clock).keeping(dir)
}

mod sqlite_and_sqlite {
    use super::{Subject, sqlite};

    fn fresh() -> Subject {
        super::fresh(|dir, clock| sqlite(&dir.join("claims.db"), clock))
    }

    semel_testkit::conformance!("hybrid of SQLite and SQLite", fresh());
    semel_testkit::conformance_with_clock!("hybrid of SQLite and SQLite", fresh());
}

mod memory_and_sqlite {
    use super::{Arc, MemoryStore, Subject};

    fn fresh() -> Subject {
        super::fresh(|_, clock| Arc::new(MemoryStore::with_clock(clock)))
    }

    semel_testkit::conformance!("hybrid of memory and SQLite", fresh());
    semel_testkit::conformance_with_clock!("hybrid of memory and SQLite", fresh());
}
