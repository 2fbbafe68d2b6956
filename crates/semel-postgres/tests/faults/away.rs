//! The server goes away and comes back: stopped, killed, standing still.

use std::process::Command;
use std::time::Duration;

use semel_core::record::EventKind;
use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Kind, State, Store, StoreExt};
use semel_testkit::server::Server;

use crate::support::Schema;
use crate::support::verbs::{
    Books, PATIENCE, done, granted, identity, kinds, lease_of, request, settle, until,
};

/// Fast shutdown: sessions are ended, everything is flushed, and no process is left.
pub(crate) fn stop(server: &Server) {
    let pids = server.pids();
    for pid in &pids {
        let signal = ["-c", "kill -s INT \"$0\"", &pid.to_string()];
        let sent = Command::new("sh").args(signal).status();
        assert!(
            sent.expect("a shell runs").success(),
            "the server can be signalled"
        );
    }
    let file = server.home().join("data/postmaster.pid");
    let looks = PATIENCE.as_millis() / 10;
    for _ in 0..looks {
        if !file.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("expected the server to shut down");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_stopped_goes_on_where_it_was() {
    let server = Server::start("postgres", &[]);
    let (schema, books) = (Schema::at(server.url()), Books::new());
    let store = schema.open().await;
    let before = granted(&store, "before").await;
    stop(&server);
    let error = store.claim_one(request("meanwhile")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    assert!(store.look_up_one(identity("before")).await.is_err());
    server.restart();
    done(&store, &books.ledger, "meanwhile").await;
    let settled = store.settle_one(settle(&before.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    assert_eq!(books.ledger.count("meanwhile").unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_killed_keeps_every_grant_and_every_outcome() {
    let server = Server::start("postgres", &[]);
    let schema = Schema::at(server.url());
    let store = schema.open().await;
    let (mut running, mut fence_max) = (Vec::new(), 0);
    for n in 0..20 {
        let lease = granted(&store, &format!("k{n}")).await;
        fence_max = fence_max.max(lease.claim.fence.get());
        if n % 2 == 0 {
            let settled = store.settle_one(settle(&lease.claim, "done")).await;
            assert_eq!(settled.unwrap(), SettleAnswer::Settled);
        } else {
            running.push(lease);
        }
    }
    server.kill();
    let error = store.claim_one(request("meanwhile")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    server.restart();
    for n in (0..20).step_by(2) {
        let answer = store.claim_one(request(&format!("k{n}"))).await.unwrap();
        assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
    }
    for lease in running {
        let again = store
            .claim_one(request(lease.claim.identity.key().as_str()))
            .await
            .unwrap();
        assert!(matches!(again, ClaimAnswer::Running { fence, .. } if fence == lease.claim.fence));
        let settled = store.settle_one(settle(&lease.claim, "done")).await;
        assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    }
    let next = granted(&store, "next").await.claim.fence.get();
    assert!(
        next > fence_max,
        "fences grow over a crash: {next} after {fence_max}"
    );
}

/// Many callers at once, so that their claims lie in several backends when these go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_that_a_standing_server_takes_up_later_are_given_back() {
    let server = Server::start("postgres", &[]);
    let schema = Schema::at(server.url());
    let config = schema.config().timeout(Duration::from_secs(1));
    let store = config.connect().await.unwrap();
    let keys: Vec<String> = (0..16).map(|n| format!("k{n}")).collect();
    // Each lane has a connection that has spoken before.
    for key in ["warm-1", "warm-2"] {
        let (a, b) = (request(key), request(&format!("{key}-b")));
        let (a, b) = tokio::join!(store.claim_one(a), store.claim_one(b));
        for answer in [a, b] {
            lease_of(answer.unwrap());
        }
    }
    server.pause();
    let asked = keys.iter().map(|key| store.claim_one(request(key)));
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer.unwrap_err().kind(), Kind::Unavailable);
    }
    server.resume();
    let client = schema.client().await;
    let open = format!(
        "SELECT count(*) FROM {}.semel_records WHERE state = 3",
        schema.name
    );
    until("every doubtful claim is given back or barred", async || {
        client.query_one(&open, &[]).await.unwrap().get::<_, i64>(0) == 16
    })
    .await;
    for key in &keys {
        assert!(store.look_up_one(identity(key)).await.unwrap().is_none());
        let events = kinds(&store, key).await;
        assert!(
            events.iter().all(|kind| *kind == EventKind::Released),
            "{events:?}"
        );
        let record = granted(&store, key).await;
        assert_eq!(record.attempt, 1);
    }
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.unknown, stats.running), (0, 20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settle_that_a_standing_server_takes_up_later_is_recognised() {
    let server = Server::start("postgres", &[]);
    let schema = Schema::at(server.url());
    let config = schema.config().timeout(Duration::from_secs(1));
    let store = config.connect().await.unwrap();
    let lease = granted(&store, "k").await;
    server.pause();
    let unanswered = store.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(unanswered.unwrap_err().kind(), Kind::Unavailable);
    server.resume();
    let settled = store.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    let record = store.look_up_one(identity("k")).await.unwrap().unwrap();
    assert!(matches!(record.state, State::Settled(_)));
    assert_eq!(kinds(&store, "k").await, []);
}
