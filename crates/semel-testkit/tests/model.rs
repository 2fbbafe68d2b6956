//! The protocol keeps its promises in every order of events, and the checker would see it if not.

#![expect(
    clippy::print_stderr,
    reason = "state counts and paths tell a reader how much was explored"
)]

use semel_core::OnUnknown::{self, Hold, Reconcile, Rerun};
use semel_testkit::model::Provider::{Answering, Closing, Fenced, Keyed, Plain};
use semel_testkit::model::{Bounds, Bug, Check, Config, Provider, check, property, shortest};

fn bounds(ticks_max: u8, claims_max: usize, crashes_max: u8) -> Bounds {
    Bounds {
        ticks_max,
        claims_max,
        crashes_max,
    }
}

fn model(workers: usize, policy: OnUnknown, provider: Provider, bounds: Bounds) -> Config {
    Config {
        workers,
        bounds,
        ..Config::new(policy, provider)
    }
}

fn explored(config: &Config) -> Check {
    let found = check(config);
    let (workers, states, unique) = (config.workers, found.states, found.unique);
    let (policy, provider, bug) = (config.policy.name(), config.provider, config.bug);
    eprintln!(
        "{workers} workers, {policy}, {provider:?}, {bug:?}: {states} states, {unique} unique, depth {}",
        found.depth,
    );
    found
}

fn path(config: &Config, property: &str) -> Vec<String> {
    let path = shortest(config, property).unwrap_or_default();
    let (policy, provider, bug) = (config.policy.name(), config.provider, config.bug);
    let (steps, shown) = (path.len(), path.join("\n  "));
    eprintln!("{policy}, {provider:?}, {bug:?}: {property:?} in {steps} steps:\n  {shown}");
    path
}

/// Every property holds, and the model is not so narrow that this means nothing.
fn assert_holds(config: &Config, unique_min: usize) {
    let found = explored(config);
    for property in &found.violations {
        path(config, property);
    }
    assert!(found.violations.is_empty(), "{config:?}: {found:?}");
    assert!(found.unique >= unique_min, "{config:?}: {found:?}");
}

#[test]
fn two_workers_keep_every_promise() {
    for (policy, provider, bounds, unique_min) in [
        (Hold, Plain, bounds(6, 4, 2), 20_000),
        (Rerun, Plain, bounds(5, 3, 2), 100_000),
        (Rerun, Fenced, bounds(5, 3, 2), 100_000),
        (Rerun, Keyed, bounds(5, 3, 2), 100_000),
        (Reconcile, Answering, bounds(4, 3, 1), 500_000),
        (Reconcile, Closing, bounds(4, 3, 1), 200_000),
    ] {
        assert_holds(&model(2, policy, provider, bounds), unique_min);
    }
}

#[test]
fn three_workers_keep_every_promise() {
    for (policy, provider, bounds, unique_min) in [
        (Hold, Plain, bounds(6, 4, 2), 30_000),
        (Rerun, Plain, bounds(5, 3, 1), 200_000),
        (Rerun, Fenced, bounds(5, 3, 1), 200_000),
        (Rerun, Keyed, bounds(5, 3, 1), 200_000),
        (Reconcile, Answering, bounds(4, 2, 1), 100_000),
        (Reconcile, Closing, bounds(2, 3, 1), 600_000),
    ] {
        assert_holds(&model(3, policy, provider, bounds), unique_min);
    }
}

#[test]
fn a_policy_that_cannot_ask_its_provider_is_as_safe_as_hold() {
    assert_holds(&Config::new(Reconcile, Plain), 10_000);
}

/// Each row is a mistake and a promise that it breaks; together they break every promise of the protocol.
#[test]
fn every_mistake_is_found() {
    use property::*;
    for (bug, policy, provider, broken) in [
        (Bug::SettleWithoutFence, Rerun, Plain, SETTLED_BY_ITS_CLAIM),
        (Bug::SettleWithoutFence, Rerun, Plain, ONLY_OWNER_CHANGES),
        (Bug::SettleWithoutFence, Reconcile, Closing, SETTLED_IS_TRUE),
        (Bug::SettleOverwrites, Rerun, Plain, SETTLED_STAYS),
        (Bug::SettleOverwrites, Rerun, Plain, SETTLE_IS_KEPT),
        (Bug::LateOutcomeDropped, Hold, Plain, LATE_OUTCOME_IS_KEPT),
        (Bug::TakeoverOfLiveLease, Rerun, Plain, ONE_LIVE_LEASE),
        (Bug::TakeoverOfLiveLease, Hold, Plain, ONE_EFFECT),
        (Bug::TakeoverOfLiveLease, Hold, Plain, NO_TAKEOVER),
        (Bug::ReleaseWithoutFence, Rerun, Plain, ONE_LIVE_LEASE),
        (Bug::ReleaseWithoutFence, Hold, Plain, ONE_EFFECT),
        (Bug::FenceResetByRelease, Hold, Plain, FENCES_GROW),
        (Bug::FenceResetByRelease, Hold, Plain, ONE_EFFECT_PER_FENCE),
        (Bug::RenewOfLostLease, Hold, Plain, ONLY_OWNER_CHANGES),
        (Bug::RenewOfLostLease, Reconcile, Closing, OWNER_IS_SERVED),
        (Bug::ResolveWithoutFence, Reconcile, Closing, ONE_EFFECT),
        (Bug::BeginsAfterLeaseEnded, Rerun, Plain, BEGINS_UNDER_LEASE),
        (Bug::GivesUpItsOutcome, Hold, Plain, OUTCOME_IS_OFFERED),
    ] {
        let config = model(2, policy, provider, bounds(4, 3, 1));
        let config = config.with_bug(bug);
        let found = path(&config, broken);
        assert!(!found.is_empty(), "{bug:?} does not break {broken:?}");
    }
}

/// The complete search sees what the search for one property sees.
#[test]
fn a_complete_check_names_all_that_a_mistake_breaks() {
    let config = model(2, Hold, Plain, bounds(4, 3, 1)).with_bug(Bug::ReleaseWithoutFence);
    let broken = [
        property::ONE_EFFECT,
        property::ONE_LIVE_LEASE,
        property::BEGINS_UNDER_LEASE,
        property::ONLY_OWNER_CHANGES,
    ];
    assert_eq!(explored(&config).violations, broken);
}

#[test]
fn damage_is_seen_where_nothing_prevents_it() {
    for (policy, provider, damage) in [
        (Rerun, Plain, property::REACHES_TWO_EFFECTS),
        (Rerun, Plain, property::REACHES_OLD_EFFECT),
        (Rerun, Fenced, property::REACHES_TWO_EFFECTS),
        (Reconcile, Answering, property::REACHES_TWO_EFFECTS),
    ] {
        let found = path(&Config::new(policy, provider), damage);
        assert!(!found.is_empty(), "{policy:?} on {provider:?}: {damage:?}");
    }
}

#[test]
fn a_model_in_which_nothing_happens_is_reported() {
    let found = check(&model(2, Rerun, Fenced, bounds(0, 0, 0)));
    for missing in [
        property::REACHES_SETTLED,
        property::REACHES_UNKNOWN,
        property::REACHES_TAKEOVER,
        property::REACHES_LATE_GRANT,
        property::REACHES_LATE_SETTLE,
        property::REACHES_LATE_EFFECT,
        property::REACHES_REFUSAL,
        property::REACHES_TWO_EFFECTS,
    ] {
        assert!(
            found.violations.contains(&missing.to_owned()),
            "{missing:?} is not in {found:?}"
        );
    }
}
