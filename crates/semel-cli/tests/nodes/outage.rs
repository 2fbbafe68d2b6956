//! The server of the store is killed, too.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use semel_testkit::server::Server;
use tokio::time::Instant;

use crate::caller::Seen;
use crate::findings::{Findings, assert_on_record, noted};
use crate::fleet::{Fleet, Unknown};
use crate::storm;
use crate::support::PATIENCE;
use crate::test_store::{TestStore, with};
use crate::upstream::{Care, Upstream};

const KILLS: usize = 4;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Kills the server, lets callers hear that it is away, and starts it again.
fn interrupt(server: &Server, seen: &Seen) {
    let before = seen.away.load(Ordering::Relaxed);
    server.kill();
    let until = Instant::now() + PATIENCE;
    while seen.away.load(Ordering::Relaxed) == before {
        assert!(
            Instant::now() < until,
            "nobody is told that the store is away"
        );
        thread::sleep(LOOK_EVERY);
    }
    server.restart();
}

fn survives(store: &str, server: &Server) {
    let place = TestStore::at(&with(&server.url(), "timeout=2s"));
    let upstream = Upstream::start(Care::None);
    let mut fleet = Fleet::start(&place, &upstream, Unknown::Hold);
    let storm = storm::rage(&mut fleet, |kills, seen| {
        if kills == KILLS / 2 {
            interrupt(server, seen);
        }
        kills < KILLS
    });
    let findings = Findings::of(&storm, &fleet);
    findings.report(store, "server killed");
    findings.assert_once();
    assert!(findings.away > 0, "{findings:#?}");
    assert_on_record(&storm, &findings, &fleet);
}

#[test]
fn a_postgres_that_is_killed_under_three_gateways() {
    noted("PostgreSQL", || {
        survives("PostgreSQL", &Server::start("postgres", &[]))
    });
}

#[test]
fn a_redis_that_is_killed_under_three_gateways() {
    noted("Redis", || survives("Redis", &Server::start("redis", &[])));
}
