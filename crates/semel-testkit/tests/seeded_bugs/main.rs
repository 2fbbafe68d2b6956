//! Stores with a bug that an engineer could make: each fact of the suite is shown able to fail by at least one of them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod bugs;
mod opening;
mod outcomes;
mod wrong;

use std::collections::BTreeSet;

use bugs::Bug;
use semel_testkit::conformance::{Test, block_on, suites};

fn facts() -> Vec<Test> {
    suites().into_iter().flat_map(|(_, tests)| tests).collect()
}

/// Whether a store with `bug` fails the test.
fn fails(test: &Test, bug: Bug) -> bool {
    let run = test.run;
    let run = std::thread::spawn(move || {
        block_on(async move { run(opening::subject(bug).await).await });
    });
    run.join().is_err()
}

#[test]
fn a_store_without_a_bug_passes() {
    let failed = facts().into_iter().filter(|test| fails(test, Bug::None));
    assert_eq!(failed.map(|test| test.name).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn each_seeded_bug_is_found_by_the_facts_that_name_it() {
    let facts = facts();
    for (bug, names) in bugs::FOUND_BY {
        for name in *names {
            let fact = facts.iter().find(|fact| fact.name == *name);
            let fact = fact.unwrap_or_else(|| panic!("no fact is called {name}"));
            assert!(fails(fact, *bug), "{bug:?} is not found by {name}");
        }
    }
}

/// A fact that no wrong store fails may not say anything.
#[test]
fn each_fact_is_failed_by_a_seeded_bug() {
    let found_by = bugs::FOUND_BY.iter().flat_map(|(_, names)| *names);
    let shown: BTreeSet<&str> = found_by.copied().collect();
    let unshown = facts().into_iter().map(|fact| fact.name);
    let unshown: Vec<_> = unshown.filter(|name| !shown.contains(name)).collect();
    assert_eq!(unshown, [""; 0], "seed a bug that each of these finds");
}
