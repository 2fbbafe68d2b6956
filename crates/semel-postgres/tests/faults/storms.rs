//! Many callers with many duplicates on three stores, while one fault strikes.

use std::time::Duration;

use semel_core::{InProgress, LeaseTerm, OnUnknown, Once, Policy};
use semel_testkit::proxy::Proxy;
use semel_testkit::server::Server;
use semel_testkit::storm::{Progress, Storm, Tally, policy};
use tokio::task::block_in_place;

use super::away::stop;
use crate::support::Schema;
use crate::support::verbs::{address, through};

const OPERATIONS: usize = 60;

/// Three stores in one schema, reached at `url`.
async fn nodes(schema: &Schema, url: &str, on_unknown: OnUnknown) -> Vec<Once> {
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let config = schema.config_at(url).timeout(Duration::from_secs(1));
        let config = config.sweep_every(Some(Duration::from_millis(100)));
        let store = config.connect().await.expect("the server answers");
        nodes.push(Once::new(store).with_policy(patient(on_unknown)));
    }
    nodes
}

/// A lease that outlasts every try of a call. With a shorter one, duplicates may be told that an outcome is unknown
/// while the claimer still asks whether it was granted; when it learns so, it takes over from itself and runs.
pub(crate) fn patient(on_unknown: OnUnknown) -> Policy {
    let lease = Duration::from_secs(4);
    Policy {
        lease: LeaseTerm::new(lease).expect("a valid term"),
        in_progress: InProgress::Wait(lease * 2),
        ..policy(on_unknown)
    }
}

fn judge(tally: &Tally) {
    tally.assert_once();
    assert_eq!(tally.told_done + tally.unknown, OPERATIONS, "{tally:#?}");
}

/// A storm on a private server for each policy, with a fault of the server itself.
async fn on_server(fault: impl Fn(&Server), mend: impl Fn(&Server)) {
    let server = Server::start("postgres", &[]);
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let schema = Schema::at(server.url());
        let nodes = nodes(&schema, &server.url(), on_unknown).await;
        let strike = async |progress: Progress| {
            progress.effects(OPERATIONS / 4).await;
            block_in_place(|| fault(&server));
            progress.refused(10).await;
            block_in_place(|| mend(&server));
        };
        let tally = Storm::new(OPERATIONS, 3).rage(nodes, strike).await;
        judge(&tally);
        assert!(tally.refused_unavailable >= 10, "{tally:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_stopped_and_started_in_a_storm() {
    on_server(stop, Server::restart).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_killed_and_started_in_a_storm() {
    on_server(Server::kill, Server::restart).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stands_still_in_a_storm() {
    on_server(Server::pause, Server::resume).await;
}

/// A storm on the shared server for each policy, with a fault of the wire.
async fn on_wire(fault: impl AsyncFn(&Proxy, &Progress)) {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let schema = Schema::new();
        let proxy = Proxy::start(address(&schema.url)).await;
        let nodes = nodes(&schema, &through(&schema.url, &proxy), on_unknown).await;
        let strike = async |progress: Progress| {
            progress.effects(OPERATIONS / 4).await;
            progress.struck();
            fault(&proxy, &progress).await;
            proxy.resume();
        };
        let tally = Storm::new(OPERATIONS, 3).rage(nodes, strike).await;
        judge(&tally);
        // A client that gives its connection up first leaves nothing to cut.
        let counts = proxy.counts();
        let struck = counts.cut + counts.swallowed > 0;
        assert!(struck, "the fault has struck: {counts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_cut_again_and_again_in_a_storm() {
    on_wire(async |proxy, progress| {
        for round in 1..=10 {
            proxy.cut_all();
            progress.answers(OPERATIONS / 4 + round * 8).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_lost_again_and_again_in_a_storm() {
    on_wire(async |proxy, progress| {
        for round in 1..=10 {
            proxy.cut_after(7 * (round - 1));
            progress.answers(OPERATIONS / 4 + round * 8).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_lost_for_a_while_in_a_storm() {
    on_wire(async |proxy, progress| {
        proxy.hold_replies();
        progress.refused(10).await;
    })
    .await;
}
