//! The embedded store behind the read cache holds to the same suite.

use std::sync::Arc;

use semel_core::{Cached, ManualClock, Timestamp};
use semel_sqlite::Config;
use semel_testkit::conformance::Subject;

fn fresh() -> Subject {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let config = Config::new(dir.path().join("semel.db"));
    let store = config.clock(clock.clone()).sweep_every(None).open();
    let store = Arc::new(store.expect("a new store opens"));
    let cached = Cached::new(store, 1024 * 1024);
    Subject::on_clock(Arc::new(cached), clock).keeping(dir)
}

semel_testkit::conformance!("SQLite, cached", fresh());
semel_testkit::conformance_with_clock!("SQLite, cached", fresh());
