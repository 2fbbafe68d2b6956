//! The sweep is shared by all processes of a store, and outlives each of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest, StoreObserver, Swept};
use semel_core::{Error, LeaseTerm, Retention, Store, StoreExt};
use semel_redis::{Config, RedisStore};
use semel_testkit::server::Server;

use crate::common::{self, Prefix, nodes, url};
use crate::{event_names, granted, info, request, settle, tell, until};

async fn connect(server: &Server, every_ms: Option<u64>) -> RedisStore {
    let config = Config::from_url(&server.url()).unwrap();
    let config = config.timeout(Duration::from_secs(1));
    let config = config.sweep_every(every_ms.map(Duration::from_millis));
    config.connect().await.unwrap()
}

/// A claim whose lease ends at once.
fn short(key: &str) -> ClaimRequest {
    ClaimRequest {
        lease: LeaseTerm::new(Duration::from_millis(1)).unwrap(),
        ..request(key)
    }
}

/// Waits until a sweep, and no caller, has written down that the lease of `key` ended.
async fn swept(store: &RedisStore, key: &str) {
    until(async || event_names(store, key).await == ["became-unknown"]).await;
}

fn primaries(server: &Server) -> Vec<redis::Connection> {
    let mut nodes = nodes(&server.url());
    nodes.retain_mut(|node| info(node, "role") == "master");
    nodes
}

/// How many looks at buckets there were. Nothing but a sweep counts ranges of indexes, and a look counts three.
fn looks(nodes: &mut [redis::Connection]) -> usize {
    let of = |node: &mut redis::Connection| {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(node).unwrap();
        let mut lines = stats.lines();
        let zcount = lines.find_map(|line| line.strip_prefix("cmdstat_zcount:calls="));
        zcount.map_or(0, |calls| {
            calls.split(',').next().unwrap().parse::<usize>().unwrap()
        })
    };
    nodes.iter_mut().map(of).sum::<usize>() / 3
}

/// Several processes sweep every bucket once per interval, and not once each.
async fn shared(service: &str, buckets: usize, interval_ms: u64) {
    let server = Server::start(service, &[]);
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(connect(&server, Some(interval_ms)).await);
    }
    let begun = tokio::time::Instant::now();
    let mut nodes = primaries(&server);
    for node in &mut nodes {
        tell(node, &["CONFIG", "RESETSTAT"]);
    }
    until(async || looks(&mut nodes) >= buckets * 6).await;
    let looks = looks(&mut nodes);
    let intervals = begun.elapsed().as_millis() as usize / interval_ms as usize;
    // The round that was under way at the start and the one at the end are counted in part.
    assert!(
        looks <= buckets * (intervals + 2),
        "{looks} looks at {buckets} buckets in {intervals} intervals"
    );
    for n in 0..40 {
        let key = format!("k-{n}");
        let claimed = stores[n % 4].claim_one(short(&key)).await.unwrap();
        assert!(matches!(claimed, ClaimAnswer::Granted(_)));
        let done = granted(&stores[0], &format!("done-{n}")).await;
        let retention = Retention::delete_after(Duration::from_millis(1)).unwrap();
        let settle = SettleRequest {
            retention,
            ..settle(&done)
        };
        stores[0].settle_one(settle).await.unwrap();
    }
    for n in 0..40 {
        swept(&stores[0], &format!("k-{n}")).await;
    }
    until(async || stores[0].stats().await.unwrap().settled == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_the_sweep_of_a_server() {
    shared("redis", 1, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_the_sweep_of_a_cluster() {
    shared("redis-cluster", 256, 400).await;
}

/// How often a process swept, and how often it heard that others had.
#[derive(Default)]
struct Heard {
    own: AtomicUsize,
    elsewhere: AtomicUsize,
}

impl StoreObserver for Heard {
    fn committed(&self, _: usize, _: Duration) {}

    fn lease_ended(&self, _: &Claim) {}

    fn swept(&self, _: Result<&Swept, &Error>) {
        self.own.fetch_add(1, Ordering::Relaxed);
    }

    fn swept_elsewhere(&self) {
        self.elsewhere.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_finds_no_share_to_sweep_says_that_others_have() {
    let server = Server::start("redis", &[]);
    let interval = Duration::from_millis(100);
    let (mut stores, mut all) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let heard = Arc::new(Heard::default());
        let config = Config::from_url(&server.url()).unwrap();
        let config = config.sweep_every(Some(interval)).watch(heard.clone());
        stores.push(config.connect().await.unwrap());
        all.push(heard);
    }
    let sum = |of: fn(&Heard) -> &AtomicUsize| {
        let each = all.iter().map(|heard| of(heard).load(Ordering::Relaxed));
        each.sum::<usize>()
    };
    // They ask a few times per interval, and only one of them is given the only share.
    until(async || sum(|heard| &heard.elsewhere) >= 4 && sum(|heard| &heard.own) >= 4).await;
    drop(stores);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_share_of_a_process_that_died_is_taken_over() {
    let server = Server::start("redis", &[]);
    let beside = connect(&server, None).await;
    let proxy = semel_testkit::proxy::Proxy::start(crate::pair::parts(&server.url()).1).await;
    let through = crate::pair::parts(&server.url()).1.to_string();
    let through = server.url().replace(&through, &proxy.addr().to_string());
    let config = Config::from_url(&through).unwrap();
    let config = config.timeout(Duration::from_secs(1));
    let interval = Duration::from_millis(50);
    let dying = config.sweep_every(Some(interval)).connect().await.unwrap();
    let mut node = nodes(&server.url()).remove(0);
    until(async || due_in_ms(&mut node).is_some()).await;
    proxy.hold_replies();
    // It has taken its share for longer than an interval, and cannot hear of it.
    until(async || due_in_ms(&mut node) > Some(500)).await;
    drop(dying);
    beside.claim_one(short("k")).await.unwrap();
    let _heir = connect(&server, Some(50)).await;
    swept(&beside, "k").await;
}

/// When the only share of a server's sweep is due.
fn due_in_ms(node: &mut redis::Connection) -> Option<i64> {
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query(node).unwrap();
    let mut shares = redis::cmd("ZRANGE");
    shares.arg("{semel:sweep}").arg(0).arg(0).arg("WITHSCORES");
    let shares: Vec<(String, i64)> = shares.query(node).unwrap();
    let (_, at) = shares.first()?;
    Some(at - seconds * 1_000 - micros / 1_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_cannot_be_read_does_not_keep_the_others_from_being_swept() {
    let prefix = Prefix::new(&url(common::CLUSTER));
    let store = prefix.config().sweep_every(None).connect().await.unwrap();
    let keys: Vec<String> = (0..20).map(|n| format!("k-{n}")).collect();
    for key in &keys {
        store.claim_one(short(key)).await.unwrap();
    }
    // One that none of them is in, most likely, and where the looks begin.
    let damaged = format!("{{{}:b000}}:running", prefix.name);
    let damage = |node: &mut redis::Connection| {
        let mut set = redis::cmd("SET");
        set.arg(&damaged).arg("no index").query::<()>(node).is_ok()
    };
    let mut nodes = nodes(&url(common::CLUSTER));
    assert!(nodes.iter_mut().any(damage), "one node has the bucket");
    until(async || {
        store.sweep(1_000).await.expect_err("a bucket is damaged");
        let mut swept = 0;
        for key in &keys {
            swept += event_names(&store, key).await.len();
        }
        swept >= keys.len() - 2
    })
    .await;
}

/// What came of the steps of each share: how many succeeded, and how many failed.
#[derive(Default)]
struct Shares(Mutex<BTreeMap<usize, (usize, usize)>>);

impl StoreObserver for Shares {
    fn committed(&self, _: usize, _: Duration) {}

    fn lease_ended(&self, _: &Claim) {}

    fn swept(&self, _: Result<&Swept, &Error>) {
        panic!("expected the share of a step");
    }

    fn swept_share(&self, share: usize, step: Result<&Swept, &Error>) {
        let mut shares = self.0.lock().unwrap();
        let (done, failed) = shares.entry(share).or_default();
        match step {
            Ok(_) => *done += 1,
            Err(_) => *failed += 1,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_that_fails_is_reported_apart_from_the_others() {
    let server = Server::start("redis-cluster", &[]);
    // One bucket, which belongs to the first share.
    let damaged = "{semel:b000}:running";
    let damage = |node: &mut redis::Connection| {
        let mut set = redis::cmd("SET");
        set.arg(damaged).arg("no index").query::<()>(node).is_ok()
    };
    let mut nodes = nodes(&server.url());
    assert!(nodes.iter_mut().any(damage), "one node has the bucket");
    let shares = Arc::new(Shares::default());
    let config = Config::from_url(&server.url()).unwrap();
    let config = config.timeout(Duration::from_secs(1));
    let config = config.sweep_every(Some(Duration::from_millis(50)));
    let _sweeping = config.watch(shares.clone()).connect().await.unwrap();
    let seen = || shares.0.lock().unwrap().clone();
    until(async || {
        let seen = seen();
        seen.len() > 1 && seen.values().all(|(done, failed)| done + failed >= 3)
    })
    .await;
    for (share, (done, failed)) in seen() {
        assert_eq!(
            (done == 0, failed == 0),
            (share == 0, share != 0),
            "{share}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_memory_is_swept_all_the_same() {
    let server = Server::start("redis", &[]);
    let store = connect(&server, None).await;
    let done = granted(&store, "k").await;
    let retention = Retention::delete_after(Duration::from_millis(1)).unwrap();
    let settle = SettleRequest {
        retention,
        ..settle(&done)
    };
    store.settle_one(settle).await.unwrap();
    let mut node = nodes(&server.url()).remove(0);
    tell(&mut node, &["CONFIG", "SET", "maxmemory", "1"]);
    let sweeping = connect(&server, Some(50)).await;
    until(async || sweeping.stats().await.unwrap().settled == 0).await;
}
