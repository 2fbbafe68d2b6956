//! The conformance suite of inboxes: every rule about messages as a named test, for every store that has one.
//!
//! A store's crate writes one file:
//!
//! ```text
//! use semel_testkit::inbox::Subject;
//!
//! fn fresh() -> Subject {
//!     let store = Arc::new(…);
//!     Subject::in_real_time(store.clone(), store)
//! }
//! semel_testkit::inbox_conformance!("SQLite", fresh());
//! ```
//!
//! As with [`mod@crate::conformance`], `fresh` is called inside the runtime that runs the test, so it may be
//! `fresh().await`, and a store whose clock can be set also runs
//! [`inbox_conformance_with_clock!`](crate::inbox_conformance_with_clock). A subject that is [`Subject::reopening`] also runs
//! [`inbox_conformance_with_reopening!`](crate::inbox_conformance_with_reopening).

pub mod attempts;
pub mod batches;
pub mod cancelling;
pub mod changing;
pub mod claiming;
pub mod clocks;
pub mod conflicts;
pub mod doors;
pub mod editing;
pub mod erasing;
pub mod finishing;
pub mod intents;
pub mod lanes;
pub mod leases;
pub mod listing;
pub mod operating;
pub mod pausing;
pub mod positions;
pub mod receiving;
pub mod replaying;
pub mod retention;
mod seen;
pub mod sequences;
pub mod steps;
pub mod storms;
mod subject;
pub mod tenants;
pub mod unreadable;
mod values;

pub use subject::{Handle, Subject};

use crate::conformance::Test;

suite! { $ all inbox_conformance in inbox:
    receiving::a_message_is_kept_as_it_arrived,
    receiving::payloads_of_any_size_come_back,
    receiving::ids_of_any_text_come_back,
    receiving::a_duplicate_of_a_received_message_makes_no_second_one,
    receiving::a_duplicate_of_a_message_in_progress_does_not_run,
    receiving::a_duplicate_of_a_completed_message_does_not_run_again,
    receiving::a_duplicate_says_where_the_first_one_stands,
    receiving::duplicates_are_counted,
    receiving::a_duplicate_tells_how_old_the_first_one_is_and_how_long_it_ran,
    receiving::the_same_id_twice_in_one_batch_is_stored_once,
    receiving::where_a_message_came_from_is_no_part_of_its_identity,
    receiving::two_consumers_never_suppress_each_other,
    receiving::two_tenants_never_suppress_each_other,
    receiving::a_record_that_another_door_settled_suppresses,
    receiving::another_payload_than_another_door_settled_is_a_conflict,
    receiving::a_claim_of_another_door_does_not_suppress,
    receiving::a_message_of_another_consumer_is_refused,
    receiving::concurrent_receives_of_one_message_store_it_once,
    receiving::a_receive_that_races_the_finish_makes_no_second_message,
    positions::the_position_of_a_source_is_kept_with_its_messages,
    positions::a_position_moves_without_messages,
    positions::a_newer_reader_fences_the_older,
    positions::a_refused_receive_stores_nothing,
    positions::positions_of_partitions_are_apart,
    positions::a_position_is_moved_by_its_owner_only,
    positions::positions_are_bounded,
    positions::readers_that_race_leave_what_the_last_owner_has_moved,
    conflicts::the_same_id_with_another_payload_is_parked_beside_the_first,
    conflicts::a_conflict_that_keeps_coming_is_stored_once,
    conflicts::another_payload_is_a_conflict_also_when_the_first_is_done,
    conflicts::two_payloads_with_one_id_in_one_batch_are_a_conflict,
    conflicts::another_form_of_the_same_content_is_a_duplicate,
    conflicts::a_conflict_runs_under_its_own_id_if_a_person_says_so,
    unreadable::what_cannot_be_read_is_kept_among_the_dead_letters,
    unreadable::what_cannot_be_read_is_stored_once,
    unreadable::what_cannot_be_read_holds_up_nothing,
    unreadable::what_could_not_be_read_is_delivered_as_it_is_after_a_retry,
    unreadable::what_cannot_be_read_is_dealt_with_by_a_skip,
    unreadable::what_cannot_be_read_under_a_known_id_is_a_conflict_with_its_reason,
    claiming::a_message_is_claimed_once_however_many_claimers_race,
    claiming::a_storm_of_claimers_shares_the_messages_out,
    claiming::a_claim_takes_the_oldest_first_and_no_more_than_asked,
    claiming::a_batch_is_claimed_in_its_order,
    claiming::a_claim_takes_only_its_own_consumers_messages,
    claiming::a_claim_takes_messages_of_all_tenants,
    claiming::a_claimed_message_says_what_its_handler_needs,
    claiming::a_claim_says_when_the_next_message_will_be_due,
    claiming::what_waits_for_a_person_is_never_claimed,
    claiming::a_claim_of_nothing_gets_nothing,
    claiming::a_wake_up_comes_when_something_becomes_due,
    finishing::a_completed_message_settles_its_record,
    finishing::a_completed_message_is_never_claimed_again,
    finishing::a_completion_sent_again_is_done,
    finishing::a_retry_is_due_when_its_time_comes,
    finishing::a_retry_without_a_wait_is_due_at_once,
    finishing::failed_attempts_are_kept_with_their_errors,
    finishing::a_failure_leaves_no_record_and_stays_as_work,
    finishing::a_skipped_message_settles_its_record,
    finishing::a_returned_message_counts_no_attempt,
    finishing::a_claim_ends_with_its_attempt,
    finishing::a_foreign_claim_changes_nothing,
    leases::a_lease_that_ended_is_claimable_with_a_higher_fence,
    leases::what_an_old_owner_brings_is_late_and_kept,
    leases::an_owner_that_nobody_replaced_may_finish,
    leases::a_renewed_lease_keeps_its_message,
    leases::an_owner_that_nobody_replaced_may_renew,
    leases::a_renewal_takes_no_time_from_a_message,
    leases::a_renewal_tells_which_claims_are_lost,
    leases::a_live_lease_is_never_taken,
    leases::a_storm_on_lost_messages_has_one_winner_each,
    leases::under_hold_a_lost_message_is_parked_as_unknown,
    leases::an_old_worker_is_late_also_after_an_operators_retry,
    lanes::only_the_head_of_a_lane_is_due,
    lanes::lanes_do_not_wait_for_each_other,
    lanes::a_retrying_head_is_not_overtaken,
    lanes::a_returned_head_keeps_its_place,
    lanes::fresh_messages_do_not_overtake_recovered_ones,
    lanes::successors_are_parked_behind_a_failure,
    lanes::a_lane_that_waits_says_what_holds_it_up,
    lanes::a_retry_of_the_head_releases_those_behind_it,
    lanes::a_skip_of_the_head_releases_those_behind_it,
    lanes::a_head_that_was_parked_by_hand_stops_its_lane,
    lanes::a_lane_that_advances_goes_on_without_what_failed,
    lanes::racing_workers_keep_the_order_of_every_lane,
    lanes::concurrent_arrivals_in_one_lane_run_one_at_a_time,
    sequences::an_older_version_is_skipped,
    sequences::the_next_version_runs,
    sequences::a_gap_is_parked_and_released_by_itself,
    sequences::several_gaps_are_filled_in_order,
    sequences::versions_may_arrive_out_of_order_in_one_batch,
    sequences::the_first_version_seen_is_the_beginning,
    sequences::a_baseline_decides_what_comes_first,
    sequences::the_same_version_under_two_ids_runs_once,
    sequences::lanes_by_sequence_are_apart,
    sequences::a_retrying_version_is_not_overtaken,
    sequences::a_gap_past_its_deadline_is_held,
    sequences::a_gap_past_its_deadline_is_passed_over,
    sequences::a_gap_before_its_deadline_is_left_alone,
    sequences::housekeeping_takes_bounded_steps,
    sequences::a_gap_says_which_versions_are_missing,
    sequences::later_versions_wait_behind_one_that_failed,
    sequences::a_skipped_version_lets_the_next_one_go,
    sequences::a_lane_by_sequence_may_advance_past_a_failure,
    sequences::what_waits_for_a_gap_runs_if_a_person_names_it,
    sequences::concurrent_arrivals_of_shuffled_versions_run_once_and_in_order,
    tenants::a_lane_keeps_its_order_for_each_tenant,
    tenants::versions_of_one_tenant_hide_none_of_another,
    tenants::a_stuck_head_of_one_tenant_parks_none_of_another,
    doors::a_message_that_another_door_settled_does_not_run,
    doors::a_lane_goes_on_past_what_another_door_settled,
    doors::a_retry_of_what_another_door_settled_is_refused,
    attempts::what_never_reached_its_handler_counts_no_attempt,
    attempts::a_message_knows_when_it_was_first_tried,
    attempts::a_retry_with_a_new_key_begins_anew,
    attempts::the_answer_of_a_failed_attempt_is_kept,
    attempts::an_unparked_message_gets_its_last_attempt_back,
    attempts::a_claim_is_bounded_in_bytes,
    pausing::a_paused_consumer_receives_and_does_not_run,
    pausing::what_runs_may_end_while_its_consumer_is_paused,
    pausing::a_pause_leaves_a_line_in_the_audit,
    changing::an_order_that_is_given_up_strands_nothing,
    changing::versions_that_waited_run_when_arrival_decides,
    changing::a_lost_head_that_is_held_stops_or_passes_its_lane,
    changing::an_owner_whose_message_was_held_may_finish,
    changing::a_rebuild_of_an_old_version_leaves_its_lane_where_it_is,
    changing::a_version_that_its_lane_passed_stays_and_says_why,
    changing::many_behind_a_failure_are_parked_in_bounded_steps,
    changing::a_head_is_retried_together_with_what_ran_before_its_turn,
    changing::an_owner_whose_held_message_was_skipped_is_late,
    attempts::a_replay_keeps_the_key_that_it_was_done_with,
    listing::states_of_many_are_told_in_one_call,
    steps::steps_come_with_the_next_attempt_in_their_order,
    steps::steps_of_a_lost_worker_are_kept,
    steps::a_step_that_is_remembered_again_stays_as_it_is,
    steps::a_step_of_an_old_owner_is_not_remembered,
    steps::steps_belong_to_their_message,
    steps::steps_stay_done_after_an_operators_retry,
    steps::steps_are_forgotten_on_replay,
    steps::steps_have_a_limit,
    intents::intents_are_received_with_the_finish,
    intents::a_finish_that_is_late_leaves_no_intents,
    intents::an_intent_that_exists_is_not_doubled,
    intents::intents_go_with_their_own_item_of_a_batch,
    intents::intents_take_their_place_in_the_lanes_of_their_target,
    intents::a_duplicate_makes_no_second_intent,
    intents::a_replay_of_the_message_leaves_its_intents_alone,
    intents::intents_have_a_limit,
    operating::a_retry_by_hand_counts_attempts_anew,
    operating::a_dead_letter_runs_again_as_it_arrived,
    operating::an_action_changes_only_the_states_it_is_for,
    operating::a_message_in_progress_is_left_to_its_worker,
    operating::an_unparked_message_goes_on_with_the_attempts_it_had,
    operating::a_message_skipped_by_hand_is_dealt_with,
    operating::a_dry_run_predicts_and_changes_nothing,
    operating::every_operation_leaves_a_line_in_the_audit,
    operating::an_operators_hand_is_in_the_history_of_the_message,
    operating::a_selection_narrows_by_everything_it_sets,
    operating::what_changed_after_the_look_is_left_alone,
    operating::an_operation_touches_only_its_own_consumer,
    operating::a_selection_of_ids_is_bounded,
    operating::a_retry_by_hand_does_not_wait,
    editing::an_edited_message_runs_with_its_new_contents_beside_the_original,
    editing::a_redelivery_of_what_was_edited_is_a_duplicate_and_no_conflict,
    editing::the_newest_edit_runs_also_on_retries_and_replays,
    editing::what_could_not_be_read_or_is_a_conflict_can_be_mended,
    editing::only_what_failed_or_is_parked_is_edited,
    editing::a_dry_run_of_an_edit_keeps_nothing,
    editing::only_the_newest_edits_are_kept,
    editing::an_edit_is_of_one_message_of_one_tenant,
    editing::an_edit_changes_no_message_of_another_tenant,
    erasing::nothing_is_left_of_contents_that_were_erased,
    erasing::a_redelivery_of_what_was_erased_is_a_duplicate,
    erasing::what_still_runs_keeps_its_contents,
    erasing::what_was_erased_is_never_replayed,
    erasing::what_is_left_without_a_record_is_erased_too,
    erasing::a_late_attempt_brings_no_contents_back,
    erasing::contents_of_one_tenant_are_erased_together,
    erasing::a_lane_goes_on_past_what_was_erased,
    replaying::a_replayed_message_is_the_same_with_the_flag_set,
    replaying::a_replay_leaves_the_settled_record_alone,
    replaying::a_duplicate_that_arrives_during_a_replay_is_a_duplicate,
    replaying::a_replay_that_fails_is_still_a_replay,
    replaying::a_message_can_be_replayed_again,
    replaying::a_skipped_message_can_be_replayed,
    replaying::a_stretch_of_time_can_be_replayed,
    replaying::a_replay_of_applied_versions_skips_them,
    replaying::a_rebuild_applies_versions_again_in_order,
    replaying::a_rebuild_of_everything_takes_new_versions_along,
    replaying::replayed_messages_of_a_lane_run_in_their_order,
    replaying::a_replay_is_in_the_audit,
    listing::lists_filter_by_state_cause_and_lane,
    listing::lists_filter_by_tenant_and_time,
    listing::lists_find_an_id_of_every_tenant,
    listing::lists_page_from_the_newest_to_the_oldest,
    listing::a_list_without_a_consumer_is_of_all,
    listing::counts_tell_states_and_the_oldest_that_waits,
    listing::a_lost_worker_is_counted_as_stale,
    listing::the_timeline_has_every_transition_with_its_cause,
    listing::parks_and_releases_are_in_the_history,
    listing::a_message_that_just_completes_has_no_history,
    listing::the_history_of_a_message_is_bounded,
    listing::a_message_is_shown_as_it_is_at_one_moment,
    listing::an_unknown_message_has_no_detail,
    listing::processed_messages_can_be_exposed,
    batches::a_batch_of_arrivals_answers_like_single_calls,
    batches::a_batch_of_finishes_answers_like_single_calls,
    batches::two_ends_of_one_claim_in_a_batch_have_one_winner,
    batches::an_empty_batch_of_messages_has_no_answers,
    batches::a_batch_of_messages_above_the_limit_is_refused_whole,
    batches::concurrent_arrivals_in_opposite_orders_all_answer,
    batches::concurrent_batches_on_the_same_lanes_all_answer,
    cancelling::a_receive_that_is_cut_short_loses_nothing,
    cancelling::a_claim_that_is_cut_short_holds_nothing_up,
    cancelling::a_finish_that_is_cut_short_can_be_sent_again,
    storms::a_storm_completes_every_message_once,
    storms::a_storm_in_lanes_completes_every_message_once,
    storms::a_storm_of_versions_deals_with_every_message_once,
    retention::after_retention_the_same_id_is_new,
    retention::retention_starts_when_a_message_is_dealt_with,
    retention::what_waits_outlives_its_retention,
    retention::what_waits_suppresses_beyond_its_retention,
    retention::a_sweep_forgets_what_is_past_retention,
    retention::a_lane_outlives_its_messages,
}

suite! { $ all_with_clock inbox_conformance_with_clock in inbox:
    clocks::a_step_back_revives_no_claim,
    clocks::a_step_back_stops_no_claim_from_ending,
    clocks::a_step_back_makes_no_message_wait,
    clocks::a_step_forward_ends_claims_and_fencing_holds,
}

suite! { $ all_with_reopening inbox_conformance_with_reopening in inbox:
    positions::positions_and_their_owners_survive_reopening,
}
