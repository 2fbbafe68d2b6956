//! The store in memory holds to the suite.

use std::sync::Arc;

use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_testkit::conformance::Subject;

fn fresh() -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    Subject::on_clock(store.clone(), clock).with_outcomes(store)
}

semel_testkit::conformance!("memory", fresh());
semel_testkit::conformance_with_clock!("memory", fresh());
semel_testkit::conformance_of_outcomes!("memory", fresh());
