//! Every kind of store under gateways that are killed.

use crate::fleet::{Fleet, Unknown};
use crate::place::Place;
use crate::storm;
use crate::upstream::{Care, Upstream};
use crate::verdict::{Verdict, assert_leases, assert_on_record, noted};

/// Kills while nobody reruns anything, and while everything is.
const KILLS_HOLD: usize = 8;
const KILLS_RERUN: usize = 3;

/// A service that knows nothing of keys: what nobody knows is held.
fn holds(store: &str, place: &Place) {
    let upstream = Upstream::start(Care::None);
    let mut fleet = Fleet::start(place, &upstream, Unknown::Hold);
    let storm = storm::rage(&mut fleet, |kills, _| {
        assert_leases(place);
        kills < KILLS_HOLD
    });
    let verdict = Verdict::of(&storm, &fleet);
    verdict.report(store, "hold");
    verdict.assert_once();
    assert!(verdict.early.is_empty(), "{verdict:#?}");
    assert_on_record(&storm, &verdict, &fleet);
}

/// A service that is idempotent by itself: what nobody knows is run again until it is done.
fn reruns(store: &str, place: &Place) {
    let upstream = Upstream::start(Care::Idempotent);
    let mut fleet = Fleet::start(place, &upstream, Unknown::Rerun);
    let storm = storm::rage(&mut fleet, |kills, _| {
        assert_leases(place);
        kills < KILLS_RERUN
    });
    let verdict = Verdict::of(&storm, &fleet);
    verdict.report(store, "rerun");
    verdict.assert_once();
    assert_eq!(verdict.effects, verdict.operations, "{verdict:#?}");
    assert_on_record(&storm, &verdict, &fleet);
}

fn once_on(store: &str, place: impl Fn() -> Place) {
    noted(store, || {
        holds(store, &place());
        reruns(store, &place());
    });
}

#[test]
fn three_gateways_on_sqlite() {
    once_on("SQLite", || Place::at("sqlite:semel.db"));
}

#[test]
fn three_gateways_on_postgres() {
    once_on("PostgreSQL", Place::postgres);
}

#[test]
fn three_gateways_on_redis() {
    once_on("Redis", Place::redis);
}

#[test]
fn three_gateways_on_redis_cluster() {
    once_on("Redis Cluster", Place::redis_cluster);
}

#[test]
fn three_gateways_on_a_hybrid() {
    once_on("hybrid of Redis and PostgreSQL", Place::redis_and_postgres);
}
