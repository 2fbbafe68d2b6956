//! Many callers while a server stops, stands still, or is replaced: nothing runs twice.

use std::sync::Arc;
use std::time::Duration;

use semel_core::{OnUnknown, Once, Store};
use semel_redis::Config;
use semel_testkit::server::Server;
use semel_testkit::storm::{Storm, policy};

use crate::pair::Pair;

/// A storm on `server` from two nodes, with `fault` in the middle of it.
async fn storm(server: &Server, on_unknown: OnUnknown, fault: impl AsyncFnOnce(&Server)) {
    let mut handles = Vec::new();
    for _ in 0..2 {
        let config = Config::from_url(&server.url())
            .unwrap()
            .timeout(Duration::from_secs(2));
        let store: Arc<dyn Store> = Arc::new(config.connect().await.unwrap());
        handles.push(Once::on(store).with_policy(policy(on_unknown)));
    }
    let storm = Storm::new(60, 3);
    let tally = storm
        .rage(handles, async |progress| {
            progress.effects(10).await;
            progress.struck();
            fault(server).await;
        })
        .await;
    tally.assert_once();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_and_started_again_lets_nothing_run_twice() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let server = Server::start("redis", &["appendonly=yes", "appendfsync=always"]);
        storm(&server, on_unknown, async |server| {
            server.kill();
            server.restart();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_lets_nothing_run_twice() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let server = Server::start("redis", &["appendonly=yes", "appendfsync=always"]);
        storm(&server, on_unknown, async |server| {
            server.pause();
            tokio::time::sleep(Duration::from_secs(3)).await;
            server.resume();
        })
        .await;
    }
}

/// With a replica that has every claim, so that nothing that was granted is lost with the primary.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_promoted_in_a_storm_lets_nothing_run_twice() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let pair = Pair::start().await;
        let url = format!("{}?wait_replicas=1&timeout=2s", pair.url());
        let mut handles = Vec::new();
        for _ in 0..2 {
            let store = Config::from_url(&url).unwrap().connect().await.unwrap();
            let store: Arc<dyn Store> = Arc::new(store);
            handles.push(Once::on(store).with_policy(policy(on_unknown)));
        }
        let storm = Storm::new(60, 3);
        let tally = storm
            .rage(handles, async |progress| {
                progress.effects(10).await;
                pair.primary.kill();
                progress.struck();
                pair.promote();
                // The new primary needs a replica itself before it grants anything.
                pair.primary.restart();
                pair.demote();
            })
            .await;
        tally.assert_once();
    }
}
