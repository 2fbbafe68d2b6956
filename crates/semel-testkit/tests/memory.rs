//! The store in memory holds to the suite, and declines what it cannot do.

use std::sync::Arc;

use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_testkit::conformance::{Ability, Subject, block_on, suites};

fn fresh() -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    Subject::on_clock(store.clone(), clock)
        .with_outcomes(store)
        .declining(&[Ability::Reopening, Ability::Stalls])
}

semel_testkit::conformance!("memory", fresh());
semel_testkit::conformance_with_clock!("memory", fresh());
semel_testkit::conformance_of_outcomes!("memory", fresh());

/// It has one handle and forgets when it is dropped; its writers cannot be held up.
#[test]
fn what_needs_a_second_opening_or_a_stalled_writer_is_refused_by_name() {
    for (suite, ability) in [
        ("sharing", Ability::Reopening),
        ("durability", Ability::Reopening),
        ("durable outcomes", Ability::Reopening),
        ("stalls", Ability::Stalls),
    ] {
        let (_, tests) = suites()
            .into_iter()
            .find(|(name, _)| *name == suite)
            .unwrap();
        for test in tests {
            let run = std::thread::spawn(move || block_on((test.run)(fresh())));
            let panic = run.join().expect_err(test.name);
            let found = panic.downcast_ref::<String>().cloned();
            let found = found.or_else(|| Some((*panic.downcast_ref::<&str>()?).to_owned()));
            let expected = format!("expected a store that offers {}", ability.name());
            assert!(
                found.is_some_and(|found| found.contains(&expected)),
                "{test:?}"
            );
        }
    }
}
