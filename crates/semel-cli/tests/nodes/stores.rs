//! Every kind of store under gateways that are killed.

use crate::findings::{Findings, assert_leases, assert_on_record, noted};
use crate::fleet::{Fleet, Unknown};
use crate::storm;
use crate::test_store::TestStore;
use crate::upstream::{Care, Upstream};

/// Kills while nobody reruns anything, and while everything is.
const KILLS_HOLD: usize = 8;
const KILLS_RERUN: usize = 3;

/// A service that knows nothing of keys: what nobody knows is held.
fn holds(store: &str, place: &TestStore) {
    let upstream = Upstream::start(Care::None);
    let mut fleet = Fleet::start(place, &upstream, Unknown::Hold);
    let storm = storm::rage(&mut fleet, |kills, _| {
        assert_leases(place);
        kills < KILLS_HOLD
    });
    let findings = Findings::of(&storm, &fleet);
    findings.report(store, "hold");
    findings.assert_once();
    assert!(findings.early.is_empty(), "{findings:#?}");
    assert_on_record(&storm, &findings, &fleet);
}

/// A service that is idempotent by itself: what nobody knows is run again until it is done.
fn reruns(store: &str, place: &TestStore) {
    let upstream = Upstream::start(Care::Idempotent);
    let mut fleet = Fleet::start(place, &upstream, Unknown::Rerun);
    let storm = storm::rage(&mut fleet, |kills, _| {
        assert_leases(place);
        kills < KILLS_RERUN
    });
    let findings = Findings::of(&storm, &fleet);
    findings.report(store, "rerun");
    findings.assert_once();
    assert_eq!(findings.effects, findings.operations, "{findings:#?}");
    assert_on_record(&storm, &findings, &fleet);
}

fn once_on(store: &str, place: impl Fn() -> TestStore) {
    noted(store, || {
        holds(store, &place());
        reruns(store, &place());
    });
}

#[test]
fn three_gateways_on_sqlite() {
    once_on("SQLite", || TestStore::at("sqlite:semel.db"));
}

#[test]
fn three_gateways_on_postgres() {
    once_on("PostgreSQL", TestStore::postgres);
}

#[test]
fn three_gateways_on_redis() {
    once_on("Redis", TestStore::redis);
}

#[test]
fn three_gateways_on_redis_cluster() {
    once_on("Redis Cluster", TestStore::redis_cluster);
}

#[test]
fn three_gateways_on_a_hybrid() {
    once_on(
        "hybrid of Redis and PostgreSQL",
        TestStore::redis_and_postgres,
    );
}
