//! A store that is measured holds to the suite that every store is held to.

use std::sync::Arc;

use semel_admin::{Metered, Metrics};
use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_testkit::conformance::{Ability, Handle, Subject};

/// Handles are layers, all on one store in memory: a layer that kept state of its own would be found.
async fn fresh() -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let inner = Arc::new(MemoryStore::with_clock(clock.clone()));
    let open = move || {
        let metered = Metered::new(inner.clone(), Arc::new(Metrics::new()));
        std::future::ready(Handle::of(metered))
    };
    let subject = Subject::opened(open).await.moved_by(clock);
    subject.declining(&[Ability::Outcomes, Ability::Stalls])
}

semel_testkit::conformance!("memory, metered", fresh().await);
semel_testkit::conformance_with_clock!("memory, metered", fresh().await);
semel_testkit::conformance_of_sharing!("memory, metered", fresh().await);
semel_testkit::conformance_of_durability!("memory, metered", fresh().await);
