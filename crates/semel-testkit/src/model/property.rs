//! What must hold in every state, and what must be reachable so that the first means something.

use semel_core::OnUnknown;
use stateright::Property;

use super::config::{Config, Provider};
use super::machine::Machine;
use super::predicate as is;

/// At most one worker holds a lease that is alive by the store's clock, and the record is its.
pub const ONE_LIVE_LEASE: &str = "at most one live lease";
/// Whoever has no live lease changes nothing by renew, settle, release or mark.
pub const ONLY_OWNER_CHANGES: &str = "only a live owner changes the record";
/// Once settled, the record stays as it is.
pub const SETTLED_STAYS: &str = "a settled record does not change";
/// The outcome on record was brought by the claim on record.
pub const SETTLED_BY_ITS_CLAIM: &str = "the outcome on record is of the claim on record";
/// Who was told "settled" finds its outcome on record.
pub const SETTLE_IS_KEPT: &str = "an accepted settle is on record";
/// What comes too late is kept for the audit.
pub const LATE_OUTCOME_IS_KEPT: &str = "a late outcome is kept";
/// Each grant has a higher fence than all before it.
pub const FENCES_GROW: &str = "the fence grows with every grant";
/// Rule 13: a run begins only while its lease is alive.
pub const BEGINS_UNDER_LEASE: &str = "nothing begins under an ended lease";
/// Rule 12: an owner offers what its run brought until the store takes it or the claim is lost.
pub const OUTCOME_IS_OFFERED: &str = "an outcome is offered while its claim lives";
/// The record says "succeeded" only if the effect happened, and "failed" only if it did not.
pub const SETTLED_IS_TRUE: &str = "a settled record tells the truth";
/// The provider turns away only who lost its lease.
pub const OWNER_IS_SERVED: &str = "a live owner is never refused";
/// No claim has two effects.
pub const ONE_EFFECT_PER_FENCE: &str = "at most one effect per fence";
/// The operation has at most one effect: the promise, where policy and provider can keep it.
/// Together with [`SETTLED_IS_TRUE`] a settled success had exactly one.
pub const ONE_EFFECT: &str = "at most one effect";
/// No effect of an old claim follows that of a newer one: what checking the fence buys.
pub const EFFECTS_IN_ORDER: &str = "no old effect after a newer one";
/// Where the outcome is held for a person, nobody runs it again.
pub const NO_TAKEOVER: &str = "nobody takes over";

/// The operation gets settled.
pub const REACHES_SETTLED: &str = "is settled";
/// The outcome becomes unknown.
pub const REACHES_UNKNOWN: &str = "becomes unknown";
/// A claim takes over from one whose outcome is unknown.
pub const REACHES_TAKEOVER: &str = "is taken over";
/// A lease ends before its run could begin: the grant came late, or its turn did.
pub const REACHES_LATE_GRANT: &str = "a grant comes too late to be used";
/// An owner brings its outcome too late.
pub const REACHES_LATE_SETTLE: &str = "is settled too late";
/// An effect is on its way although its claim has lost the lease, so it may land at any time.
pub const REACHES_LATE_EFFECT: &str = "an effect is under way without a lease";
/// The provider refuses an effect.
pub const REACHES_REFUSAL: &str = "an effect is refused";
/// The operation has two effects: the damage, where policy and provider cannot prevent it.
pub const REACHES_TWO_EFFECTS: &str = "has two effects";
/// An effect of an old claim follows that of a newer one: the damage, where no fence is checked.
pub const REACHES_OLD_EFFECT: &str = "has an old effect after a newer one";

/// The properties of a configuration.
pub(super) fn of(config: &Config) -> Vec<Property<Machine>> {
    let parts = [of_record(), of_effects(config), of_trouble(config)];
    parts.into_iter().flatten().collect()
}

/// What the protocol promises whatever the policy and the provider.
fn of_record() -> Vec<Property<Machine>> {
    vec![
        Property::always(ONE_LIVE_LEASE, |_, s| is::one_live_lease(s)),
        Property::always(ONLY_OWNER_CHANGES, |_, s| is::unchanged_by_strangers(s)),
        Property::always(SETTLED_STAYS, |_, s| is::settled_as_at_first(s)),
        Property::always(SETTLED_BY_ITS_CLAIM, |_, s| is::settled_by_its_claim(s)),
        Property::always(SETTLE_IS_KEPT, |_, s| is::accepted_settle_kept(s)),
        Property::always(LATE_OUTCOME_IS_KEPT, |_, s| is::no_outcome_dropped(s)),
        Property::always(FENCES_GROW, |_, s| is::every_fence_higher(s)),
        Property::always(BEGINS_UNDER_LEASE, |_, s| is::every_begin_under_a_lease(s)),
        Property::always(OUTCOME_IS_OFFERED, |_, s| is::outcome_offered(s)),
    ]
}

/// The promise about effects where it can be kept, and the damage where it cannot.
fn of_effects(config: &Config) -> Vec<Property<Machine>> {
    let one = match config.promises_one_effect() {
        true => Property::always(ONE_EFFECT, |_, s| is::effects(s) <= 1),
        false => Property::sometimes(REACHES_TWO_EFFECTS, |_, s| is::effects(s) > 1),
    };
    let mut properties = vec![
        one,
        Property::always(ONE_EFFECT_PER_FENCE, |_, s| is::one_effect_per_fence(s)),
        Property::always(SETTLED_IS_TRUE, |_, s| is::settled_truly(s)),
        Property::always(OWNER_IS_SERVED, |_, s| is::no_live_owner_refused(s)),
    ];
    if config.provider.checks_fence() {
        properties.push(Property::always(EFFECTS_IN_ORDER, |_, s| is::in_order(s)));
    } else if config.policy == OnUnknown::Rerun {
        properties.push(Property::sometimes(REACHES_OLD_EFFECT, |_, s| {
            !is::in_order(s)
        }));
    }
    properties
}

/// The trouble that the model must be able to get into.
fn of_trouble(config: &Config) -> Vec<Property<Machine>> {
    let mut properties = vec![
        Property::sometimes(REACHES_SETTLED, |_, s| is::settled(s).is_some()),
        Property::sometimes(REACHES_UNKNOWN, |_, s| is::unknown(s)),
        Property::sometimes(REACHES_LATE_GRANT, |_, s| is::grant_too_late(s)),
        Property::sometimes(REACHES_LATE_SETTLE, |_, s| is::late_settle_answered(s)),
        Property::sometimes(REACHES_LATE_EFFECT, |_, s| is::late_effect_under_way(s)),
    ];
    if !config.has_takeovers() {
        properties.push(Property::always(NO_TAKEOVER, |_, s| is::attempt(s) <= 1));
        return properties;
    }
    properties.push(Property::sometimes(REACHES_TAKEOVER, |_, s| {
        is::attempt(s) > 1
    }));
    if config.provider.checks_fence() || config.provider == Provider::Closing {
        properties.push(Property::sometimes(REACHES_REFUSAL, |_, s| is::refused(s)));
    }
    properties
}
