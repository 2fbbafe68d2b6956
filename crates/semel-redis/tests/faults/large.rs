//! Large bodies: no call and no reply is unbounded, and none of them passes through a script to be replayed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use semel_core::record::{Claim, EventKind};
use semel_core::store::batcher::BYTES_MAX;
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, all};
use semel_core::{Fingerprint, Kind, Outcome, Record, State, Store, StoreExt};
use semel_redis::{Config, RedisStore};
use semel_testkit::server::Server;

use crate::common::nodes;
use crate::{event_names, granted, identity, info, request, settle, tell};

const MIB: usize = 1024 * 1024;

async fn connect(server: &Server) -> RedisStore {
    let config = Config::from_url(&server.url()).unwrap();
    let config = config.sweep_every(None).timeout(Duration::from_secs(30));
    config.connect().await.unwrap()
}

/// A body that tells which operation it is of.
fn body(n: usize, len: usize) -> Vec<u8> {
    let mut body = vec![b'x'; len];
    body[..8].copy_from_slice(format!("{n:08}").as_bytes());
    body
}

/// The body of a settled record.
fn kept(record: &Record) -> &bytes::Bytes {
    match &record.state {
        State::Settled(settled) => settled.outcome.body.kept().expect("the body is kept"),
        other => panic!("expected a settled record, found {other:?}"),
    }
}

fn large(claim: &Claim, n: usize, len: usize) -> SettleRequest {
    SettleRequest {
        outcome: Outcome::succeeded(body(n, len)),
        ..settle(claim)
    }
}

/// How often the server was asked to run a command, by scripts too.
fn calls(node: &mut redis::Connection, command: &str) -> usize {
    let stats: String = redis::cmd("INFO").arg("commandstats").query(node).unwrap();
    let line = stats.lines().find_map(|line| {
        let line = line.strip_prefix("cmdstat_")?.strip_prefix(command)?;
        line.strip_prefix(":calls=")?.split(',').next()
    });
    line.map_or(0, |calls| calls.parse().unwrap())
}

/// What the interpreter of scripts holds, with what it has not thrown away yet.
fn script_bytes(node: &mut redis::Connection) -> usize {
    info(node, "used_memory_lua").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_large_outcomes_are_settled_and_replayed_in_bounded_calls() {
    const COUNT: usize = 64;
    let server = Server::start("redis", &[]);
    let store = Arc::new(connect(&server).await);
    let mut node = nodes(&server.url()).remove(0);
    let keys: Vec<String> = (0..COUNT).map(|n| format!("k-{n}")).collect();
    let mut claims = Vec::new();
    for key in &keys {
        claims.push(granted(&store, key).await);
    }
    let before = calls(&mut node, "evalsha") + calls(&mut node, "eval");
    let settles = claims.iter().enumerate();
    let settles = settles.map(|(n, claim)| store.settle_one(large(claim, n, MIB)));
    for settled in join_all(settles).await {
        assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    }
    let sent = calls(&mut node, "evalsha") + calls(&mut node, "eval") - before;
    assert!(
        sent >= COUNT * MIB / BYTES_MAX,
        "{COUNT} bodies in {sent} calls"
    );
    // A fresh interpreter; the settles have gone through the old one.
    tell(&mut node, &["SCRIPT", "FLUSH", "SYNC"]);
    let replays = keys.iter().map(|key| store.claim_one(request(key)));
    for (n, replay) in join_all(replays).await.into_iter().enumerate() {
        let ClaimAnswer::Settled(record) = replay.unwrap() else {
            panic!("operation {n} is settled");
        };
        let found = kept(&record);
        assert!(
            *found == body(n, MIB),
            "another body than that of operation {n}"
        );
    }
    let identities = keys.iter().map(|key| identity(key)).collect();
    let found = all(store.look_up(identities).await).unwrap();
    assert!(
        found
            .iter()
            .flatten()
            .enumerate()
            .all(|(n, record)| { *kept(record) == body(n, MIB) })
    );
    assert!(calls(&mut node, "mget") >= COUNT * MIB / BYTES_MAX);
    // Sent again, settles find what is on record, and compare it.
    for (n, claim) in claims.iter().enumerate().take(4) {
        let again = store.settle_one(large(claim, n, MIB)).await.unwrap();
        assert_eq!(again, SettleAnswer::Settled);
        let other = store.settle_one(large(claim, n + 1, MIB)).await.unwrap();
        assert_eq!(other, SettleAnswer::Late);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_are_read_past_the_scripts() {
    let server = Server::start("redis", &[]);
    let store = connect(&server).await;
    let mut node = nodes(&server.url()).remove(0);
    let claim = granted(&store, "k").await;
    store.settle_one(large(&claim, 0, 8 * MIB)).await.unwrap();
    for n in 1..4 {
        let late = store.settle_one(large(&claim, n, 8 * MIB)).await.unwrap();
        assert_eq!(late, SettleAnswer::Late);
    }
    tell(&mut node, &["SCRIPT", "FLUSH", "SYNC"]);
    let empty = script_bytes(&mut node);
    let replay = store.claim_one(request("k")).await.unwrap();
    assert!(matches!(replay, ClaimAnswer::Settled(_)), "{replay:?}");
    let mismatch = ClaimRequest {
        fingerprint: Fingerprint::of_bytes(b"another request"),
        ..request("k")
    };
    let mismatch = store.claim_one(mismatch).await.unwrap();
    assert_eq!(mismatch, ClaimAnswer::Mismatch);
    assert!(store.look_up_one(identity("k")).await.unwrap().is_some());
    let events = store.history(identity("k")).await.unwrap();
    let bodies = events.iter().filter_map(|event| match &event.kind {
        EventKind::LateOutcome(outcome) => outcome.body.kept(),
        _ => None,
    });
    assert!(
        bodies
            .enumerate()
            .all(|(n, found)| *found == body(n + 1, 8 * MIB))
    );
    let names = event_names(&store, "k").await;
    assert_eq!(
        names,
        ["late-outcome", "late-outcome", "late-outcome", "mismatch"]
    );
    store.release_one(claim).await.unwrap();
    let grown = script_bytes(&mut node).saturating_sub(empty);
    assert!(
        grown < 8 * MIB,
        "scripts have touched a body: {grown} bytes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_short_arguments_only_says_which_bodies_it_keeps() {
    for setting in ["proto-max-bulk-len=1mb", "client-query-buffer-limit=1mb"] {
        let server = Server::start("redis", &[setting]);
        let store = connect(&server).await;
        let most = store.limits().body_bytes_max;
        assert!(most < MIB && most > MIB / 2, "{setting}: {most}");
        let claim = granted(&store, "k").await;
        let error = store
            .settle_one(large(&claim, 0, most + 1))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{setting}: {error}");
        let settled = store.settle_one(large(&claim, 0, most)).await.unwrap();
        assert_eq!(settled, SettleAnswer::Settled, "{setting}");
        // An outcome that comes late is kept by another script, as one argument with everything else.
        let late = store.settle_one(large(&claim, 1, most)).await.unwrap();
        assert_eq!(late, SettleAnswer::Late, "{setting}");
        let ClaimAnswer::Settled(record) = store.claim_one(request("k")).await.unwrap() else {
            panic!("{setting}: it is settled");
        };
        assert_eq!(kept(&record).len(), most, "{setting}");
    }
}
