//! The embedded store holds to the suite that every store is held to.

use std::sync::Arc;

use semel_core::{ManualClock, Timestamp};
use semel_sqlite::Config;
use semel_testkit::conformance::Subject;

fn fresh() -> Subject {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let config = Config::new(dir.path().join("semel.db"));
    let store = config.clock(clock.clone()).sweep_every(None).open();
    let store = Arc::new(store.expect("a new store opens"));
    let subject = Subject::on_clock(store.clone(), clock);
    subject.with_outcomes(store).keeping(dir)
}

semel_testkit::conformance!("SQLite", fresh());
semel_testkit::conformance_with_clock!("SQLite", fresh());
semel_testkit::conformance_of_outcomes!("SQLite", fresh());
