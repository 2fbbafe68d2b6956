//! A cluster that changes under load: a primary dies, slots move, scripts are forgotten.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Prefix, nodes, url};
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover};
use semel_core::{
    Fingerprint, Identity, LeaseTerm, OnUnknown, Once, Outcome, Retention, Store, StoreExt,
};
use semel_redis::{Config, RedisStore};
use semel_testkit::server::Server;
use semel_testkit::storm::{Storm, policy};

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("acme", "payments@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

async fn run_once(store: &RedisStore, key: &str) {
    let ClaimAnswer::Granted(lease) = store.claim_one(request(key)).await.unwrap() else {
        panic!("a first claim of {key} is granted");
    };
    let request = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::succeeded("done"),
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    assert_eq!(
        store.settle_one(request).await.unwrap(),
        SettleAnswer::Settled,
        "{key}"
    );
}

/// Sends a signal to one process that the test's server started.
fn signal(name: &str, pid: u32) {
    let sent = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

fn info(node: &mut redis::Connection, section: &str) -> String {
    redis::cmd("INFO").arg(section).query(node).unwrap()
}

/// The value of a line of INFO.
fn field<'a>(info: &'a str, name: &str) -> &'a str {
    let value = info
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap().trim()
}

/// Waits until every node that answers says that all slots are served.
async fn whole(url: &str) {
    let is_whole = |node: &mut redis::Connection| {
        let told: String = redis::cmd("CLUSTER").arg("INFO").query(node).unwrap();
        told.contains("cluster_state:ok")
    };
    while !nodes(url).iter_mut().all(is_whole) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_killed_under_load_lets_nothing_run_twice() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let server = Server::start("redis-cluster", &[]);
        let mut handles = Vec::new();
        for _ in 0..2 {
            // Replication is asynchronous: only what a replica has survives its primary.
            let config = Config::from_url(&format!("{}?wait_replicas=1", server.url())).unwrap();
            let store: Arc<dyn Store> = Arc::new(config.connect().await.unwrap());
            handles.push(Once::on(store).with_policy(policy(on_unknown)));
        }
        let storm = Storm::new(60, 3);
        let tally = storm
            .rage(handles, async |progress| {
                progress.effects(10).await;
                let mut primary = nodes(&server.url()).into_iter();
                let pid = primary.find_map(|mut node| {
                    let is_primary = info(&mut node, "replication").contains("role:master");
                    is_primary.then(|| info(&mut node, "server"))
                });
                let pid = field(&pid.unwrap(), "process_id").parse().unwrap();
                assert!(server.pids().contains(&pid));
                signal("-KILL", pid);
                progress.struck();
                whole_again(&server.url()).await;
                // The promoted replica has none itself, so nothing is claimed there until the dead one is back.
                server.restart();
                whole(&server.url()).await;
            })
            .await;
        tally.assert_once();
    }
}

/// Waits until the failover has begun and is over: the survivors must notice first.
async fn whole_again(url: &str) {
    let alive = nodes(url).len();
    let fails = |node: &mut redis::Connection| {
        let told: String = redis::cmd("CLUSTER").arg("NODES").query(node).unwrap();
        told.lines()
            .any(|line| line.contains("master,fail ") || line.contains("slave,fail "))
    };
    while nodes(url)
        .iter_mut()
        .filter_map(|node| fails(node).then_some(()))
        .count()
        < alive
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    whole(url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_wait_for_a_replica_where_there_is_one() {
    let url = url(common::CLUSTER);
    let prefix = Prefix::new(&url);
    let store = prefix
        .config()
        .wait_replicas(1)
        .sweep_every(None)
        .connect()
        .await
        .unwrap();
    for n in 0..20 {
        run_once(&store, &format!("k-{n}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forgotten_scripts_are_sent_again_to_every_node() {
    let server = Server::start("redis-cluster", &[]);
    let store = Config::from_url(&server.url())
        .unwrap()
        .connect()
        .await
        .unwrap();
    for round in 0..3 {
        for mut node in nodes(&server.url()) {
            redis::cmd("SCRIPT")
                .arg("FLUSH")
                .query::<()>(&mut node)
                .unwrap();
        }
        for n in 0..20 {
            run_once(&store, &format!("k-{round}-{n}")).await;
        }
        store.sweep(10).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_move_while_claims_go_on() {
    let server = Server::start("redis-cluster", &[]);
    let store = Arc::new(
        Config::from_url(&server.url())
            .unwrap()
            .connect()
            .await
            .unwrap(),
    );
    for n in 0..300 {
        run_once(&store, &format!("before-{n}")).await;
    }
    let moved = Arc::new(AtomicBool::new(false));
    let load = {
        let (store, moved) = (store.clone(), moved.clone());
        tokio::spawn(async move {
            let mut count = 0;
            while !moved.load(Ordering::Relaxed) || count < 500 {
                run_once(&store, &format!("during-{count}")).await;
                count += 1;
            }
            count
        })
    };
    let url = server.url();
    tokio::task::spawn_blocking(move || move_buckets(&url))
        .await
        .unwrap();
    moved.store(true, Ordering::Relaxed);
    let count = load.await.unwrap();
    for key in (0..300)
        .map(|n| format!("before-{n}"))
        .chain((0..count).map(|n| format!("during-{n}")))
    {
        let answer = store.claim_one(request(&key)).await.unwrap();
        assert!(
            matches!(answer, ClaimAnswer::Settled(_)),
            "{key}: {answer:?}"
        );
    }
    assert_eq!(store.stats().await.unwrap().settled, 300 + count as u64);
}

/// Moves the slots of the first buckets of one primary to another, as `redis-cli --cluster reshard` does.
fn move_buckets(url: &str) {
    let mut primaries: Vec<redis::Connection> = nodes(url)
        .into_iter()
        .filter_map(|mut node| {
            info(&mut node, "replication")
                .contains("role:master")
                .then_some(node)
        })
        .collect();
    let id = |node: &mut redis::Connection| {
        redis::cmd("CLUSTER")
            .arg("MYID")
            .query::<String>(node)
            .unwrap()
    };
    let (from, to) = primaries.split_at_mut(1);
    let (from, to) = (&mut from[0], &mut to[0]);
    let (from_id, to_id) = (id(from), id(to));
    let to_port: String = field(&info(to, "server"), "tcp_port").to_owned();
    let password = url
        .split_once("://:")
        .and_then(|(_, rest)| rest.split_once('@'))
        .map(|(p, _)| p);
    for bucket in 0..256 {
        let tag = format!("{{semel:b{bucket:03}}}");
        let slot: u16 = redis::cmd("CLUSTER")
            .arg("KEYSLOT")
            .arg(&tag)
            .query(from)
            .unwrap();
        let importing = redis::cmd("CLUSTER")
            .arg("SETSLOT")
            .arg(slot)
            .arg("IMPORTING")
            .arg(&from_id)
            .query::<()>(to);
        let migrating = redis::cmd("CLUSTER")
            .arg("SETSLOT")
            .arg(slot)
            .arg("MIGRATING")
            .arg(&to_id)
            .query::<()>(from);
        if importing.is_err() || migrating.is_err() {
            // Not a slot of this primary.
            let _ = redis::cmd("CLUSTER")
                .arg("SETSLOT")
                .arg(slot)
                .arg("STABLE")
                .query::<()>(to);
            continue;
        }
        loop {
            let mut find = redis::cmd("CLUSTER");
            let keys: Vec<Vec<u8>> = find
                .arg("GETKEYSINSLOT")
                .arg(slot)
                .arg(10)
                .query(from)
                .unwrap();
            if keys.is_empty() {
                break;
            }
            let mut migrate = redis::cmd("MIGRATE");
            migrate
                .arg("127.0.0.1")
                .arg(&to_port)
                .arg("")
                .arg(0)
                .arg(5_000);
            if let Some(password) = password {
                migrate.arg("AUTH").arg(password);
            }
            migrate
                .arg("KEYS")
                .arg(&keys)
                .query::<redis::Value>(from)
                .unwrap();
        }
        for node in [&mut *to, &mut *from] {
            redis::cmd("CLUSTER")
                .arg("SETSLOT")
                .arg(slot)
                .arg("NODE")
                .arg(&to_id)
                .query::<()>(node)
                .unwrap();
        }
    }
}

/// The processes of the first primary and of its replica.
fn first_shard(server: &Server) -> [u32; 2] {
    let (url, pids) = (server.url(), server.pids());
    let (_, hosts) = url.rsplit_once('@').unwrap();
    let first = hosts.split(',').next().unwrap();
    let (_, port) = first.rsplit_once(':').unwrap();
    let follows = |node: &mut redis::Connection| {
        let told = info(node, "replication");
        told.contains("role:slave") && field(&told, "master_port") == port
    };
    let replica = nodes(&url).iter_mut().position(follows).unwrap();
    [pids[0], pids[replica]]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_away_keeps_no_orphan_of_another_from_being_given_back() {
    let settings = [
        "cluster-require-full-coverage=no",
        "cluster-node-timeout=15000",
    ];
    let server = Server::start("redis-cluster", &settings);
    let config = |parameters: &str| {
        let config = Config::from_url(&format!("{}{parameters}", server.url())).unwrap();
        config.sweep_every(None)
    };
    // Every claim is granted by its server and refused all the same, because no shard has so many replicas.
    let store = config("?wait_replicas=2&timeout=400ms")
        .connect()
        .await
        .unwrap();
    let beside = config("").connect().await.unwrap();
    let shard = first_shard(&server);
    shard.iter().for_each(|pid| signal("-STOP", *pid));
    let (mut away, mut orphans) = (0, Vec::new());
    for n in 0.. {
        let request = request(&format!("k{n}"));
        let identity = request.identity.clone();
        let error = store.claim_one(request).await.unwrap_err().to_string();
        match error.contains("replicas") {
            true => orphans.extend((away > 0).then_some(identity)),
            false => away += 1,
        }
        if away > 1 && orphans.len() > 3 {
            break;
        }
    }
    for identity in orphans {
        let given_back = async {
            while beside
                .look_up_one(identity.clone())
                .await
                .unwrap()
                .is_some()
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Longer than a lease: what was not given back by then never is.
        tokio::time::timeout(Duration::from_secs(60), given_back)
            .await
            .expect("the claim to be given back");
        let names = beside.history(identity).await.unwrap();
        assert_eq!(names.len(), 1, "it was granted and released: {names:?}");
    }
    shard.iter().for_each(|pid| signal("-CONT", *pid));
}
