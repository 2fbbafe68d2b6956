//! The store in memory holds to the suite.

use std::sync::Arc;

use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_testkit::conformance::Subject;

fn fresh() -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let store = MemoryStore::with_clock(clock.clone());
    Subject::on_clock(Arc::new(store), clock)
}

semel_testkit::conformance!(fresh());
semel_testkit::conformance_with_clock!(fresh());
