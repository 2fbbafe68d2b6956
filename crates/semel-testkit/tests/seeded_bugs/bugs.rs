//! The bugs, and the facts that find them.

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    // Claims.
    RunningReportedAsAbsent,
    EveryClaimGranted,
    KeysTrimmed,
    VersionsMixed,
    FingerprintIgnored,
    TakeoverOfWhatIsHeld,
    AttemptsNotCounted,
    FencesReset,
    ReplaysTakeTheWritersLock,
    WallClockFollowed,
    // Outcomes.
    HeadersSorted,
    FailureReportedAsAbsent,
    OmittedBodyIsEmpty,
    BodyCut,
    LargeBodyOmitted,
    // Leases and fencing.
    RenewIgnored,
    RenewalShortens,
    SettleWithoutFence,
    ReleaseWithoutFence,
    RenewWithoutFence,
    LateOutcomeDropped,
    LateReportedAsSettled,
    NeverGrantedIsLate,
    SettleAgainIsLate,
    ReleaseIgnored,
    ReleaseAgainIsLost,
    // Unknown outcomes and decisions.
    EndedLeaseReportedAsRunning,
    MarkIgnored,
    MarkAgainIsLost,
    ResolveIgnored,
    RefusalReportedAsResolved,
    // Retention and sweep.
    RetentionFromTheClaim,
    ExpiredUntilSwept,
    ArchiveDropped,
    SweepIgnoresItsLimit,
    SweepTakesSettled,
    SweepTakesRunning,
    SweepTakesUnknown,
    // Batches and limits.
    AnswersOutOfOrder,
    EmptyBatchAnswered,
    BatchCut,
    OneBadItemFailsAll,
    // Histories, lists and counts.
    HistoryReversed,
    HistoryTellsTheUsual,
    HistoryDoubled,
    LateOutcomesPushedOut,
    StateFilterIgnored,
    CursorEndsEarly,
    CountsFrozen,
    // Keeping outcomes for others.
    KeepIgnored,
    KeepAgainIsSuperseded,
    SupersededReportedAsKept,
    BarIgnored,
    BarsSeen,
    NotesDropped,
    // Handles.
    HandlesApart,
    LeasesForgottenOnOpening,
    LeasesRestartedOnOpening,
    UnknownsForgottenOnOpening,
    HistoryForgottenOnOpening,
}

/// Each bug with facts that must find it. It may fail more.
pub(crate) const FOUND_BY: &[(Bug, &[&str])] = &[
    (
        Bug::RunningReportedAsAbsent,
        &["a_first_claim_is_granted_and_seen"],
    ),
    (
        Bug::EveryClaimGranted,
        &[
            "a_second_claim_sees_it_running",
            "a_storm_on_one_identity_has_exactly_one_winner",
            "a_storm_on_many_identities_has_one_winner_each",
            "a_live_lease_is_never_taken_over",
            "a_takeover_storm_has_exactly_one_winner",
            "two_reconcilers_have_one_winner",
            "two_claims_of_one_identity_in_a_batch_have_one_winner",
            "concurrent_batches_in_opposite_orders_all_answer",
            "a_storm_through_two_handles_has_exactly_one_winner",
        ],
    ),
    (Bug::KeysTrimmed, &["identities_of_any_text_come_back"]),
    (
        Bug::VersionsMixed,
        &["tenants_scopes_and_versions_never_meet"],
    ),
    (
        Bug::FingerprintIgnored,
        &[
            "the_fingerprint_is_compared_before_the_state",
            "what_one_handle_settled_the_other_replays",
        ],
    ),
    (
        Bug::TakeoverOfWhatIsHeld,
        &[
            "under_hold_nobody_runs_again",
            "a_takeover_of_another_claim_is_refused",
        ],
    ),
    (
        Bug::AttemptsNotCounted,
        &["an_expired_lease_is_claimable_with_a_higher_fence"],
    ),
    (
        Bug::FencesReset,
        &[
            "fences_grow_over_release_takeover_erasure_and_sweep",
            "fences_grow_across_handles",
            "fences_grow_over_reopening",
        ],
    ),
    (
        Bug::ReplaysTakeTheWritersLock,
        &[
            "two_simultaneous_replays_both_answer",
            "replays_are_answered_while_writers_are_at_work",
            "replays_do_not_wait_for_a_stalled_writer",
        ],
    ),
    (
        Bug::WallClockFollowed,
        &[
            "a_step_back_revives_no_lease",
            "a_step_back_stops_no_lease_from_ending",
        ],
    ),
    (
        Bug::HeadersSorted,
        &["a_settled_outcome_is_replayed_verbatim"],
    ),
    (
        Bug::FailureReportedAsAbsent,
        &["a_kept_failure_is_replayed_too"],
    ),
    (
        Bug::OmittedBodyIsEmpty,
        &["an_omitted_body_keeps_length_and_digest"],
    ),
    (Bug::BodyCut, &["bodies_of_any_size_come_back"]),
    (
        Bug::LargeBodyOmitted,
        &["an_item_that_the_store_cannot_keep_costs_the_others_nothing"],
    ),
    (Bug::RenewIgnored, &["a_renewed_lease_lasts"]),
    (Bug::RenewalShortens, &["a_renewal_never_shortens_a_lease"]),
    (
        Bug::SettleWithoutFence,
        &[
            "a_late_settle_is_kept_and_never_served",
            "a_foreign_identity_with_a_valid_fence_changes_nothing",
            "a_step_forward_ends_leases_and_fencing_holds",
            "a_takeover_through_one_handle_fences_off_the_other",
        ],
    ),
    (
        Bug::ReleaseWithoutFence,
        &["a_late_release_changes_nothing"],
    ),
    (Bug::RenewWithoutFence, &["a_late_renewal_changes_nothing"]),
    (
        Bug::LateOutcomeDropped,
        &[
            "a_late_settle_is_kept_and_never_served",
            "a_late_settle_without_a_successor_is_kept_and_never_served",
        ],
    ),
    (
        Bug::LateReportedAsSettled,
        &[
            "a_settled_record_does_not_change",
            "a_settle_after_release_is_late",
        ],
    ),
    (
        Bug::NeverGrantedIsLate,
        &["a_settle_that_was_never_granted_is_refused"],
    ),
    (Bug::SettleAgainIsLate, &["a_settle_sent_again_is_settled"]),
    (
        Bug::ReleaseIgnored,
        &["a_released_claim_can_be_claimed_again"],
    ),
    (
        Bug::ReleaseAgainIsLost,
        &["a_release_sent_again_is_released"],
    ),
    (
        Bug::EndedLeaseReportedAsRunning,
        &["an_ended_lease_is_unknown_to_readers"],
    ),
    (Bug::MarkIgnored, &["a_marked_claim_is_unknown_at_once"]),
    (Bug::MarkAgainIsLost, &["a_mark_sent_again_is_marked"]),
    (
        Bug::ResolveIgnored,
        &[
            "resolving_as_happened_settles",
            "resolving_as_not_happened_releases",
            "an_erased_record_can_run_again",
            "an_erased_record_is_not_archived",
        ],
    ),
    (
        Bug::RefusalReportedAsResolved,
        &["resolving_what_is_not_unknown_is_refused"],
    ),
    (
        Bug::RetentionFromTheClaim,
        &["retention_starts_when_settled"],
    ),
    (
        Bug::ExpiredUntilSwept,
        &["an_expired_record_is_absent_before_it_is_swept"],
    ),
    (
        Bug::ArchiveDropped,
        &[
            "archived_records_are_kept_apart",
            "retention_and_archive_survive_reopening",
        ],
    ),
    (Bug::SweepIgnoresItsLimit, &["a_sweep_takes_bounded_steps"]),
    (
        Bug::SweepTakesSettled,
        &[
            "a_sweep_under_load_loses_nothing",
            "a_sweep_through_one_handle_takes_only_what_is_past",
        ],
    ),
    (Bug::SweepTakesRunning, &["running_records_never_disappear"]),
    (Bug::SweepTakesUnknown, &["unknown_records_never_disappear"]),
    (
        Bug::AnswersOutOfOrder,
        &[
            "a_batch_of_claims_answers_like_single_calls",
            "a_batch_of_settles_answers_like_single_calls",
            "a_batch_of_releases_answers_like_single_calls",
            "a_batch_of_keeps_answers_like_single_calls",
        ],
    ),
    (Bug::EmptyBatchAnswered, &["an_empty_batch_has_no_answers"]),
    (Bug::BatchCut, &["a_batch_above_the_limit_is_refused_whole"]),
    (
        Bug::OneBadItemFailsAll,
        &["an_item_that_the_store_cannot_keep_costs_the_others_nothing"],
    ),
    (
        Bug::HistoryReversed,
        &["history_tells_what_was_unusual_in_order"],
    ),
    (
        Bug::HistoryTellsTheUsual,
        &["the_happy_path_leaves_no_history"],
    ),
    (Bug::HistoryDoubled, &["history_is_bounded"]),
    (
        Bug::LateOutcomesPushedOut,
        &["a_late_outcome_outlasts_a_flood_of_mismatches"],
    ),
    (Bug::StateFilterIgnored, &["lists_filter_and_page"]),
    (Bug::CursorEndsEarly, &["lists_filter_and_page"]),
    (
        Bug::CountsFrozen,
        &[
            "stats_count_each_state",
            "lists_and_counts_are_those_of_all_handles",
        ],
    ),
    (
        Bug::KeepIgnored,
        &[
            "a_kept_outcome_is_a_settled_record",
            "a_kept_outcome_has_the_instants_of_its_store",
        ],
    ),
    (Bug::KeepAgainIsSuperseded, &["a_keep_sent_again_is_kept"]),
    (
        Bug::SupersededReportedAsKept,
        &[
            "a_kept_outcome_does_not_change",
            "an_outcome_past_retention_makes_room",
            "a_claim_of_its_own_is_in_the_way",
        ],
    ),
    (
        Bug::BarIgnored,
        &[
            "a_bar_refuses_lower_fences_only",
            "a_bar_never_falls",
            "a_bar_after_a_keep_finds_the_outcome",
            "a_bar_outlives_the_record",
            "a_keep_and_a_bar_never_pass_each_other",
        ],
    ),
    (Bug::BarsSeen, &["a_barred_identity_is_absent"]),
    (Bug::NotesDropped, &["a_note_is_in_the_history"]),
    (
        Bug::HandlesApart,
        &[
            "what_one_handle_settled_the_other_replays",
            "a_claim_through_one_handle_is_running_for_the_other",
            "a_claim_through_one_handle_is_ended_through_the_other",
            "a_release_survives_reopening",
            "fences_grow_over_reopening",
            "kept_outcomes_and_bars_survive_reopening",
        ],
    ),
    (
        Bug::LeasesForgottenOnOpening,
        &[
            "every_record_survives_reopening_as_it_was",
            "a_claim_is_settled_after_reopening",
        ],
    ),
    (
        Bug::LeasesRestartedOnOpening,
        &["a_running_claim_survives_reopening_and_its_lease_still_ends"],
    ),
    (
        Bug::UnknownsForgottenOnOpening,
        &["an_unknown_outcome_survives_reopening"],
    ),
    (
        Bug::HistoryForgottenOnOpening,
        &["a_late_outcome_survives_reopening"],
    ),
];
