//! A store that is measured holds to the suite that every store is held to.

use std::sync::Arc;

use semel_admin::{Metered, Metrics};
use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_testkit::conformance::Subject;

fn fresh() -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let inner = Arc::new(MemoryStore::with_clock(clock.clone()));
    let store = Metered::new(inner, Arc::new(Metrics::new()));
    Subject::on_clock(Arc::new(store), clock)
}

semel_testkit::conformance!("memory, metered", fresh());
semel_testkit::conformance_with_clock!("memory, metered", fresh());
