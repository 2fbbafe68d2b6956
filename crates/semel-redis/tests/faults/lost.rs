//! Answers that are lost, scripts that are forgotten, replicas that do not answer.

use std::net::SocketAddr;
use std::time::Duration;

use semel_core::store::{
    Actor, ClaimAnswer, Resolution, ResolveAnswer, ResolveRequest, SettleAnswer,
};
use semel_core::{Kind, Store, StoreExt};
use semel_redis::{Config, RedisStore};
use semel_testkit::proxy::Proxy;
use semel_testkit::server::Server;

use crate::common::{self, Prefix, nodes, url};
use crate::{absent, event_names, granted, identity, request, settle};

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
            reason: None,
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
