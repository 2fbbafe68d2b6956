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
    Subject::on_clock(Arc::new(store.expect("a new store opens")), clock).keeping(dir)
}

semel_testkit::conformance!(fresh());
semel_testkit::conformance_with_clock!(fresh());
