//! Answers that are lost, scripts that are forgotten, servers that stop: what callers see, and that nothing ran twice.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use common::{Prefix, nodes, url};
use semel_core::record::Claim;
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, Resolution, ResolveAnswer, ResolveRequest, SettleAnswer,
    SettleRequest, Takeover, all,
};
use semel_core::{
    Fingerprint, Identity, Kind, LeaseTerm, OnUnknown, Once, Outcome, Retention, Store, StoreExt,
};
use semel_redis::{Config, RedisStore};
use semel_testkit::proxy::Proxy;
use semel_testkit::server::Server;
use semel_testkit::storm::{Storm, policy};

fn identity(key: &str) -> Identity {
    Identity::parse("acme", "payments@1", key).unwrap()
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: identity(key),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
    }
}

fn settle(claim: &Claim) -> SettleRequest {
    SettleRequest {
        claim: claim.clone(),
        outcome: Outcome::succeeded("done"),
        took: Duration::ZERO,
        retention: Retention::default(),
    }
}

async fn granted(store: &RedisStore, key: &str) -> Claim {
    match store.claim_one(request(key)).await.unwrap() {
        ClaimAnswer::Granted(lease) => lease.claim,
        other => panic!("expected a grant, found {other:?}"),
    }
}

async fn event_names(store: &RedisStore, key: &str) -> Vec<&'static str> {
    let events = store.history(identity(key)).await.unwrap();
    events.iter().map(|event| event.kind.name()).collect()
}

/// Waits until an operation is absent; the suite's time limit ends a wait that is in vain.
async fn absent(store: &RedisStore, key: &str) {
    while store.look_up_one(identity(key)).await.unwrap().is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A store behind a proxy, and one beside it.
struct Behind {
    proxy: Proxy,
    store: RedisStore,
    beside: RedisStore,
    _prefix: Prefix,
}

async fn behind_a_proxy(timeout: Duration) -> Behind {
    let url = url(common::SINGLE);
    let prefix = Prefix::new(&url);
    let (before, host) = match url.rsplit_once('@') {
        Some((credentials, host)) => (format!("{credentials}@"), host),
        None => ("redis://".to_owned(), url.trim_start_matches("redis://")),
    };
    let (host, db) = host.split_once('/').unwrap_or((host, "0"));
    let proxy = Proxy::start(host.parse::<SocketAddr>().unwrap()).await;
    let config = Config::from_url(&format!("{before}{}/{db}", proxy.addr())).unwrap();
    let config = config
        .prefix(&prefix.name)
        .sweep_every(None)
        .timeout(timeout);
    Behind {
        store: config.connect().await.unwrap(),
        beside: prefix.config().sweep_every(None).connect().await.unwrap(),
        proxy,
        _prefix: prefix,
    }
}

#[tokio::test]
async fn a_claim_knows_its_own_grant_when_the_answer_was_lost() {
    let on = behind_a_proxy(Duration::from_secs(5)).await;
    granted(&on.store, "warm").await;
    on.proxy.cut_after(0);
    let claim = granted(&on.store, "k").await;
    assert_eq!(on.proxy.counts().cut, 1);
    let record = on.beside.look_up_one(identity("k")).await.unwrap().unwrap();
    assert_eq!((record.fence, record.attempt), (claim.fence, 1));
    assert!(matches!(
        on.beside.claim_one(request("k")).await.unwrap(),
        ClaimAnswer::Running { .. }
    ));
    assert_eq!(
        on.store.settle_one(settle(&claim)).await.unwrap(),
        SettleAnswer::Settled
    );
    assert!(event_names(&on.beside, "k").await.is_empty());
}

#[tokio::test]
async fn a_settle_whose_answer_was_lost_is_settled_once() {
    let on = behind_a_proxy(Duration::from_secs(5)).await;
    let claim = granted(&on.store, "k").await;
    on.proxy.cut_after(0);
    assert_eq!(
        on.store.settle_one(settle(&claim)).await.unwrap(),
        SettleAnswer::Settled
    );
    assert_eq!(on.proxy.counts().cut, 1);
    assert!(event_names(&on.beside, "k").await.is_empty());
}

#[tokio::test]
async fn a_late_outcome_whose_answer_was_lost_is_kept_once() {
    let on = behind_a_proxy(Duration::from_secs(5)).await;
    let claim = granted(&on.store, "k").await;
    on.store.release_one(claim.clone()).await.unwrap();
    for bytes in [0, 64, 512] {
        on.proxy.cut_after(bytes);
        assert_eq!(
            on.store.settle_one(settle(&claim)).await.unwrap(),
            SettleAnswer::Late
        );
        on.proxy.resume();
    }
    let names = event_names(&on.beside, "k").await;
    assert_eq!(
        names,
        ["released", "late-outcome", "late-outcome", "late-outcome"]
    );
}

#[tokio::test]
async fn a_decision_whose_answer_was_lost_was_made_once() {
    let on = behind_a_proxy(Duration::from_secs(5)).await;
    // The record is looked at, then the change is made: some of these cuts lose the one answer, some the other.
    for cut in (0..400).step_by(16) {
        let key = format!("k-{cut}");
        let claim = granted(&on.store, &key).await;
        on.store.settle_one(settle(&claim)).await.unwrap();
        let erase = ResolveRequest {
            claim,
            by: Actor::new("a test").unwrap(),
            resolution: Resolution::Erase,
        };
        on.proxy.cut_after(cut);
        let answer = on.store.resolve_one(erase).await.unwrap();
        assert_eq!(answer, ResolveAnswer::Resolved, "cut after {cut} bytes");
        on.proxy.resume();
        assert_eq!(
            event_names(&on.beside, &key).await,
            ["erased"],
            "cut after {cut} bytes"
        );
    }
    assert!(on.proxy.counts().cut > 10);
}

#[tokio::test]
async fn a_grant_that_nobody_heard_of_is_given_back() {
    let on = behind_a_proxy(Duration::from_millis(300)).await;
    granted(&on.store, "warm").await;
    on.proxy.hold_replies();
    let error = on
        .store
        .claim_one(request("k"))
        .await
        .expect_err("no answer comes");
    assert_eq!(error.kind(), Kind::Unavailable);
    assert!(
        on.beside
            .look_up_one(identity("k"))
            .await
            .unwrap()
            .is_some()
    );
    on.proxy.resume();
    absent(&on.beside, "k").await;
    assert_eq!(event_names(&on.beside, "k").await, ["released"]);
    granted(&on.beside, "k").await;
}

#[tokio::test]
async fn a_claim_of_a_caller_that_went_away_is_given_back() {
    let on = behind_a_proxy(Duration::from_secs(5)).await;
    granted(&on.store, "warm").await;
    on.proxy.hold_replies();
    let waiting =
        tokio::time::timeout(Duration::from_millis(100), on.store.claim_one(request("k")));
    waiting.await.expect_err("no answer comes");
    on.proxy.resume();
    absent(&on.beside, "k").await;
    granted(&on.beside, "k").await;
}

#[tokio::test]
async fn forgotten_scripts_are_sent_again() {
    // On a server of its own: others must not find their scripts gone.
    let server = Server::start("redis", &[]);
    let store = Config::from_url(&server.url())
        .unwrap()
        .sweep_every(None)
        .connect()
        .await
        .unwrap();
    let mut node = nodes(&server.url()).remove(0);
    let mut forget = || {
        redis::cmd("SCRIPT")
            .arg("FLUSH")
            .query::<()>(&mut node)
            .unwrap()
    };
    forget();
    let claim = granted(&store, "k").await;
    forget();
    assert_eq!(
        store.settle_one(settle(&claim)).await.unwrap(),
        SettleAnswer::Settled
    );
    forget();
    assert!(matches!(
        store.claim_one(request("k")).await.unwrap(),
        ClaimAnswer::Settled(_)
    ));
    forget();
    assert_eq!(store.stats().await.unwrap().settled, 1);
}

#[tokio::test]
async fn a_claim_that_too_few_replicas_have_is_refused_and_given_back() {
    let server = Server::start("redis", &[]);
    let config = Config::from_url(&format!("{}?wait_replicas=1&timeout=2s", server.url())).unwrap();
    let store = config.sweep_every(None).connect().await.unwrap();
    let error = store
        .claim_one(request("k"))
        .await
        .expect_err("there is no replica");
    assert_eq!(error.kind(), Kind::Unavailable);
    assert!(error.to_string().contains("replicas"), "{error}");
    // Giving back waits for no replica: it takes nothing that anybody relies on.
    absent(&store, "k").await;
}

#[tokio::test]
async fn a_full_memory_is_told_and_loses_nothing() {
    let server = Server::start("redis", &["maxmemory=3mb"]);
    let store = Config::from_url(&server.url())
        .unwrap()
        .sweep_every(None)
        .connect()
        .await
        .unwrap();
    let (mut claims, mut full) = (Vec::new(), None);
    for n in 0..100_000 {
        match store.claim_one(request(&format!("k-{n}"))).await {
            Ok(ClaimAnswer::Granted(lease)) => claims.push(lease.claim),
            Ok(other) => panic!("expected a grant, found {other:?}"),
            Err(error) => {
                full = Some(error);
                break;
            }
        }
    }
    let error = full.expect("three megabytes are full at some time");
    assert_eq!(error.kind(), Kind::DiskFull, "{error}");
    assert_eq!(store.stats().await.unwrap().running, claims.len() as u64);
    all(store.release(claims[..100].to_vec().into()).await)
        .expect_err("a release leaves an event, for which there is no room");
    let mut node = nodes(&server.url()).remove(0);
    redis::cmd("CONFIG")
        .arg("SET")
        .arg("maxmemory")
        .arg("0")
        .query::<()>(&mut node)
        .unwrap();
    for claim in &claims[..100] {
        assert_eq!(
            store.settle_one(settle(claim)).await.unwrap(),
            SettleAnswer::Settled
        );
    }
}

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
