//! The scenarios that every idempotent consumer should be tested with.

mod deliveries;
mod replays;
mod versions;

use crate::runner::Running;
use crate::stage::Stage;

/// A scenario on a stage.
pub(crate) type Scenario = for<'a> fn(&'a Stage) -> Running<'a>;

macro_rules! scenarios {
    ($($module:ident::$name:ident,)+) => {
        [$((stringify!($name), |stage| Box::pin($module::$name(stage)))),+]
    };
}

/// All of them, by name.
pub(crate) const ALL: [(&str, Scenario); 10] = scenarios![
    deliveries::first_delivery_applies_the_effect,
    deliveries::a_duplicate_after_success_has_no_second_effect,
    deliveries::a_crash_after_the_commit_before_the_ack_is_skipped_on_redelivery,
    deliveries::a_crash_before_the_commit_is_processed_on_redelivery,
    deliveries::an_external_effect_before_a_marker_that_failed_is_not_doubled_by_the_provider,
    versions::an_old_version_is_ignored,
    versions::a_future_version_is_a_gap,
    replays::a_dead_letter_replayed_with_the_same_id_has_one_effect,
    replays::a_replay_suppresses_side_effects_where_required,
    replays::after_retention_has_ended_the_same_id_is_new,
];
