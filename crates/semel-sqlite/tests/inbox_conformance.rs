//! The inbox on the embedded store holds to the suite that every inbox is held to: on a clock that the tests move, and on the
//! machine's own.

use std::sync::Arc;

use semel_core::{Inbox, ManualClock, Store, Timestamp};
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::inbox::Subject;
use tempfile::TempDir;

fn open(config: impl FnOnce(Config) -> Config) -> (Arc<SqliteStore>, TempDir) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = Config::new(dir.path().join("semel.db")).sweep_every(None);
    let store = config(file).open().expect("a new store opens");
    (Arc::new(store), dir)
}

fn on_clock() -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let (store, dir) = open(|config| config.clock(clock.clone()));
    Subject::on_clock(store.clone(), store, clock).keeping(dir)
}

fn in_real_time() -> Subject {
    let (store, dir) = open(|config| config);
    Subject::in_real_time(store.clone(), store).keeping(dir)
}

/// Its data can be opened again.
fn reopening() -> Subject {
    let (store, dir) = open(|config| config);
    let path = dir.path().join("semel.db");
    let subject = Subject::in_real_time(store.clone(), store).keeping(dir);
    subject.reopening(move || {
        let config = Config::new(&path).sweep_every(None);
        let store = Arc::new(config.open().expect("it opens again"));
        async move { (store.clone() as Arc<dyn Inbox>, store as Arc<dyn Store>) }
    })
}

mod moved {
    use super::on_clock;

    semel_testkit::inbox_conformance!("SQLite", on_clock());
    semel_testkit::inbox_conformance_with_clock!("SQLite", on_clock());
}

mod real {
    use super::in_real_time;

    semel_testkit::inbox_conformance!("SQLite in real time", in_real_time());
    semel_testkit::inbox_conformance_with_reopening!("SQLite", super::reopening());
}
