//! The conformance suite: every rule of the protocol as a named test, for every store.
//!
//! A store's crate writes one file:
//!
//! ```
//! use std::sync::Arc;
//! use semel_core::{MemoryStore, SystemClock};
//! use semel_testkit::conformance::{Ability, Subject};
//!
//! fn fresh() -> Subject {
//!     Subject::in_real_time(Arc::new(MemoryStore::new())).declining(&Ability::ALL)
//! }
//! semel_testkit::conformance!("memory", fresh());
//! # fn main() {}
//! ```
//!
//! The name is the store's row in the table that the test command prints. `fresh` is called inside the
//! runtime that runs the test, so a store that connects is made by `fresh().await`.
//!
//! What only some stores can offer is an [`Ability`], and each has suites of its own: a clock that can be set
//! ([`conformance_with_clock!`](crate::conformance_with_clock)), keeping outcomes for others
//! ([`conformance_of_outcomes!`](crate::conformance_of_outcomes)), being opened twice and again
//! ([`conformance_of_sharing!`](crate::conformance_of_sharing),
//! [`conformance_of_durability!`](crate::conformance_of_durability),
//! [`conformance_of_durable_outcomes!`](crate::conformance_of_durable_outcomes)), and writers that a test holds up
//! ([`conformance_of_stalls!`](crate::conformance_of_stalls)). A store that cannot offer one declines it by name
//! ([`Subject::declining`]), and the table of results says so.

mod abilities;
pub mod batches;
pub mod claims;
pub mod clocks;
pub mod durability;
pub mod erasing;
pub mod known;
pub mod leases;
pub mod operators;
pub mod outcomes;
pub mod retention;
pub mod sharing;
pub mod stalls;
mod subject;
pub mod unknowns;

pub use abilities::{Ability, Handle, declare};
pub use subject::Subject;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;

use crate::results;

/// One named test of a suite, on what it calls its subject.
pub struct Test<S = Subject> {
    /// The fact that it states.
    pub name: &'static str,
    /// Panics if the fact does not hold for the subject.
    pub run: fn(S) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

// A derive would ask the subject to be one that can be copied.
impl<S> Clone for Test<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Test<S> {}

impl<S> std::fmt::Debug for Test<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Runs one test to its end on a runtime of its own.
pub fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be built in tests")
        .block_on(test);
}

thread_local! {
    /// What the test of this thread is about.
    static HELD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Writes down that what is under test cannot do something, so that its tests say nothing.
#[cfg(feature = "sources")]
pub(crate) fn decline(ability: &str) {
    if let Some(store) = HELD.with_borrow(Clone::clone) {
        results::record("declines", &store, &[ability.to_owned()]);
    }
}

/// Runs the test `name` of a store to its end and writes down how it went.
pub fn hold_to(store: &str, name: &str, test: impl Future<Output = ()>) {
    HELD.set(Some(store.to_owned()));
    let run = catch_unwind(AssertUnwindSafe(|| block_on(test)));
    let kind = if run.is_ok() { "conformance" } else { "failed" };
    results::record(kind, store, &[name.to_owned()]);
    if let Err(panic) = run {
        resume_unwind(panic);
    }
}

/// Makes a `#[test]` of every rule that holds for all stores: the store's name, and an expression that makes a fresh
/// [`Subject`] and may `await`. The subject offers each [`Ability`] or declines it by name.
#[macro_export]
macro_rules! conformance {
    ($store:expr, $fresh:expr) => {
        #[test]
        fn each_ability_is_offered_or_declined_by_name() {
            let name = "each_ability_is_offered_or_declined_by_name";
            $crate::conformance::hold_to($store, name, async {
                $crate::conformance::declare($store, &$fresh);
            });
        }

        $crate::conformance_of_records!($store, $fresh);
        $crate::conformance_of_erasing!($store, $fresh);
    };
}

/// A suite by its name, with the tests in it.
pub type Suite = (&'static str, Vec<Test>);

/// Every suite.
pub fn suites() -> Vec<Suite> {
    vec![
        ("records", all()),
        ("erasing", all_of_erasing()),
        ("clock", all_with_clock()),
        ("outcomes", all_of_outcomes()),
        ("sharing", all_of_sharing()),
        ("durability", all_of_durability()),
        ("durable outcomes", all_of_durable_outcomes()),
        ("stalls", all_of_stalls()),
    ]
}

suite! { $ all conformance_of_records in conformance:
    claims::a_first_claim_is_granted_and_seen,
    claims::a_second_claim_sees_it_running,
    claims::a_settled_outcome_is_replayed_verbatim,
    claims::a_kept_failure_is_replayed_too,
    claims::an_omitted_body_keeps_length_and_digest,
    claims::bodies_of_any_size_come_back,
    claims::identities_of_any_text_come_back,
    claims::tenants_scopes_and_versions_never_meet,
    claims::the_fingerprint_is_compared_before_the_state,
    claims::a_released_claim_can_be_claimed_again,
    claims::a_storm_on_one_identity_has_exactly_one_winner,
    claims::a_storm_on_many_identities_has_one_winner_each,
    claims::two_simultaneous_replays_both_answer,
    leases::a_renewed_lease_lasts,
    leases::a_renewal_never_shortens_a_lease,
    leases::an_expired_lease_is_claimable_with_a_higher_fence,
    leases::a_live_lease_is_never_taken_over,
    leases::a_takeover_storm_has_exactly_one_winner,
    leases::a_late_settle_is_kept_and_never_served,
    leases::a_late_settle_without_a_successor_is_kept_and_never_served,
    leases::a_late_release_changes_nothing,
    leases::a_late_renewal_changes_nothing,
    leases::a_settle_sent_again_is_settled,
    leases::a_release_sent_again_is_released,
    leases::a_settled_record_does_not_change,
    leases::a_settle_after_release_is_late,
    leases::fences_grow_over_release_takeover_erasure_and_sweep,
    leases::a_foreign_identity_with_a_valid_fence_changes_nothing,
    leases::a_settle_that_was_never_granted_is_refused,
    unknowns::an_ended_lease_is_unknown_to_readers,
    unknowns::under_hold_nobody_runs_again,
    unknowns::a_marked_claim_is_unknown_at_once,
    unknowns::a_mark_sent_again_is_marked,
    unknowns::a_takeover_of_another_claim_is_refused,
    unknowns::resolving_as_happened_settles,
    unknowns::resolving_as_not_happened_releases,
    unknowns::resolving_what_is_not_unknown_is_refused,
    unknowns::two_reconcilers_have_one_winner,
    unknowns::unknown_records_never_disappear,
    retention::retention_starts_when_settled,
    retention::an_expired_record_is_absent_before_it_is_swept,
    retention::running_records_never_disappear,
    retention::a_sweep_takes_bounded_steps,
    retention::a_sweep_under_load_loses_nothing,
    retention::archived_records_are_kept_apart,
    retention::an_erased_record_can_run_again,
    retention::an_erased_record_is_not_archived,
    batches::a_batch_of_claims_answers_like_single_calls,
    batches::a_batch_of_settles_answers_like_single_calls,
    batches::a_batch_of_releases_answers_like_single_calls,
    batches::two_claims_of_one_identity_in_a_batch_have_one_winner,
    batches::an_empty_batch_has_no_answers,
    batches::a_batch_above_the_limit_is_refused_whole,
    batches::an_item_that_the_store_cannot_keep_costs_the_others_nothing,
    batches::concurrent_batches_in_opposite_orders_all_answer,
    operators::history_tells_what_was_unusual_in_order,
    operators::the_happy_path_leaves_no_history,
    operators::history_is_bounded,
    operators::a_late_outcome_outlasts_a_flood_of_mismatches,
    operators::lists_filter_and_page,
    operators::stats_count_each_state,
    known::what_was_asked_comes_back,
    known::a_takeover_says_anew_what_was_asked,
    known::a_named_claim_is_granted_again_while_its_lease_lives,
    known::a_named_claim_whose_lease_ended_is_unknown,
    known::a_storm_under_one_name_has_one_claim,
    known::evidence_of_an_unknown_outcome_is_kept,
    known::records_are_found_by_key_and_by_method,
    known::settled_records_are_listed_as_such,
    known::a_decision_can_be_corrected,
    known::only_decisions_can_be_corrected,
    known::the_audit_tells_who_decided_what_and_why,
    erasing::an_erasure_of_contents_names_its_claim,
    erasing::an_erasure_of_contents_is_in_the_audit,
    stalls::replays_are_answered_while_writers_are_at_work,
}

suite! { $ all_of_erasing conformance_of_erasing in conformance:
    erasing::erased_contents_are_gone_and_the_outcome_stands,
    erasing::large_contents_are_erased_too,
    erasing::the_history_keeps_no_contents_after_an_erasure,
    erasing::archived_contents_are_erased_too,
}

suite! { $ all_with_clock conformance_with_clock in conformance:
    clocks::a_step_back_revives_no_lease,
    clocks::a_step_back_stops_no_lease_from_ending,
    clocks::a_step_forward_ends_leases_and_fencing_holds,
}

suite! { $ all_of_outcomes conformance_of_outcomes in conformance:
    outcomes::a_kept_outcome_is_a_settled_record,
    outcomes::a_kept_outcome_has_the_instants_of_its_store,
    outcomes::a_keep_sent_again_is_kept,
    outcomes::a_kept_outcome_does_not_change,
    outcomes::a_bar_refuses_lower_fences_only,
    outcomes::a_bar_never_falls,
    outcomes::a_barred_identity_is_absent,
    outcomes::a_bar_after_a_keep_finds_the_outcome,
    outcomes::a_bar_outlives_the_record,
    outcomes::a_bar_outlives_a_corrected_record,
    outcomes::an_outcome_past_retention_makes_room,
    outcomes::a_claim_of_its_own_is_in_the_way,
    outcomes::a_keep_and_a_bar_never_pass_each_other,
    outcomes::a_note_is_in_the_history,
    outcomes::a_batch_of_keeps_answers_like_single_calls,
}

suite! { $ all_of_sharing conformance_of_sharing in conformance:
    sharing::what_one_handle_settled_the_other_replays,
    sharing::a_claim_through_one_handle_is_running_for_the_other,
    sharing::a_claim_through_one_handle_is_ended_through_the_other,
    sharing::a_storm_through_two_handles_has_exactly_one_winner,
    sharing::fences_grow_across_handles,
    sharing::a_takeover_through_one_handle_fences_off_the_other,
    sharing::lists_and_counts_are_those_of_all_handles,
    sharing::a_sweep_through_one_handle_takes_only_what_is_past,
}

suite! { $ all_of_durability conformance_of_durability in conformance:
    durability::every_record_survives_reopening_as_it_was,
    durability::a_running_claim_survives_reopening_and_its_lease_still_ends,
    durability::a_claim_is_settled_after_reopening,
    durability::a_release_survives_reopening,
    durability::an_unknown_outcome_survives_reopening,
    durability::a_late_outcome_survives_reopening,
    durability::retention_and_archive_survive_reopening,
    durability::fences_grow_over_reopening,
}

suite! { $ all_of_durable_outcomes conformance_of_durable_outcomes in conformance:
    outcomes::kept_outcomes_and_bars_survive_reopening,
}

suite! { $ all_of_stalls conformance_of_stalls in conformance:
    stalls::replays_do_not_wait_for_a_stalled_writer,
}
