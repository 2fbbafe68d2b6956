//! Each fact of the suite fails on a broker that breaks it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use semel_testkit::conformance::{Test, block_on};
use semel_testkit::sources::{self, Subject};

use crate::memory::{Bug, fresh};

/// A bug, and a fact that must notice it.
const NOTICED: [(Bug, &str); 19] = [
    (
        Bug::AcksOnDelivery,
        "what_is_not_acknowledged_comes_again_after_a_crash",
    ),
    (
        Bug::AcksPassHoles,
        "acknowledgements_out_of_order_never_pass_over_a_hole",
    ),
    (Bug::CancelLoses, "a_cancelled_next_loses_nothing"),
    (Bug::IgnoresCount, "a_batch_is_bounded_by_count"),
    (Bug::IgnoresBytes, "a_batch_is_bounded_by_bytes"),
    (Bug::WantsAreIgnored, "who_wants_nothing_gets_nothing"),
    (Bug::ForgetsNulls, "no_payload_is_not_an_empty_one"),
    (
        Bug::ForgetsNulls,
        "a_header_without_a_value_is_not_an_empty_one",
    ),
    (Bug::ForgetsRepeats, "headers_repeat_and_are_bytes"),
    (Bug::KeysAreText, "a_key_is_bytes"),
    (Bug::Reverses, "messages_of_one_key_come_in_their_order"),
    (
        Bug::CoordinatesRepeat,
        "coordinates_are_unique_and_a_topic_made_anew_has_others",
    ),
    (Bug::ExtendDoesNothing, "an_extended_delivery_is_kept"),
    (
        Bug::LateAcksCount,
        "an_expired_delivery_comes_again_and_its_late_answer_changes_nothing",
    ),
    (Bug::BacksAreAcks, "what_is_given_back_comes_again"),
    (
        Bug::OneBadHandleFailsAll,
        "each_delivery_is_settled_by_itself",
    ),
    (
        Bug::AcksAreForgotten,
        "what_is_acknowledged_does_not_come_again",
    ),
    (Bug::LagIsZero, "what_waits_at_the_broker_is_counted"),
    (
        Bug::AcksUnreadableNever,
        "what_cannot_be_read_is_a_dead_letter_and_acknowledged",
    ),
];

#[test]
fn every_bug_is_noticed_by_the_fact_about_it() {
    let all = sources::all();
    let test = |fact: &str| {
        let found = all.iter().find(|test| test.name == fact);
        *found.unwrap_or_else(|| panic!("there is no fact {fact}"))
    };
    // Most of the time is spent waiting.
    let missed: Vec<String> = std::thread::scope(|scope| {
        let runs = NOTICED.map(|(bug, fact)| {
            let test = test(fact);
            (bug, fact, scope.spawn(move || fails(bug, test)))
        });
        let missed = runs.into_iter().filter_map(|(bug, fact, run)| {
            let is_noticed = run.join().expect("a run says whether it failed");
            (!is_noticed).then(|| format!("{fact} does not notice {bug:?}"))
        });
        missed.collect()
    });
    assert!(missed.is_empty(), "{missed:#?}");
}

/// A fact that does not end in time has noticed that something is missing.
fn fails(bug: Bug, test: Test<Subject>) -> bool {
    let mut in_time = true;
    let ran = std::panic::catch_unwind(AssertUnwindSafe(|| {
        block_on(async {
            let run = (test.run)(fresh(bug));
            let run = tokio::time::timeout(Duration::from_secs(30), run).await;
            in_time = run.is_ok();
        });
    }));
    ran.is_err() || !in_time
}
