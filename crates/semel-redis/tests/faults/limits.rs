//! The server has no more to give: memory, room on its disk, connections, the right to write; or its data is not
//! loaded yet.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleAnswer, all};
use semel_core::{Kind, Store, StoreExt};
use semel_redis::{Config, RedisStore};
use semel_testkit::proxy::Proxy;
use semel_testkit::server::{Server, SmallDisk};

use crate::common::nodes;
use crate::pair::parts;
use crate::{done, granted, identity, info, request, settle, tell, until};

fn config(server: &Server, timeout_ms: u64) -> Config {
    let config = Config::from_url(&server.url()).unwrap();
    let timeout = Duration::from_millis(timeout_ms);
    config.sweep_every(None).timeout(timeout)
}

async fn connect(server: &Server, timeout_ms: u64) -> RedisStore {
    config(server, timeout_ms).connect().await.unwrap()
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

/// Ways in which a server refuses writes and can be read all the same.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Refusing {
    Memory,
    Snapshots,
    Replica,
}

impl Refusing {
    const fn kind(self) -> Kind {
        match self {
            Self::Memory | Self::Snapshots => Kind::DiskFull,
            Self::Replica => Kind::ReadOnly,
        }
    }

    async fn set(self, server: &Server, refuses: bool) {
        let mut node = nodes(&server.url()).remove(0);
        match self {
            Self::Memory => {
                let bytes = if refuses { "1" } else { "0" };
                tell(&mut node, &["CONFIG", "SET", "maxmemory", bytes]);
            }
            Self::Replica => {
                let of = if refuses {
                    ["127.0.0.1", "1"]
                } else {
                    ["NO", "ONE"]
                };
                tell(&mut node, &["REPLICAOF", of[0], of[1]]);
            }
            Self::Snapshots => {
                let (mode, status) = if refuses {
                    (0o500, "err")
                } else {
                    (0o700, "ok")
                };
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(server.home(), mode).unwrap();
                tell(&mut node, &["BGSAVE"]);
                until(async || info(&mut node, "rdb_last_bgsave_status") == status).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_writes_still_replays_and_goes_on_afterwards() {
    let server = Server::start("redis", &["appendonly=no", "save=3600 1"]);
    let store = connect(&server, 300).await;
    for fault in [Refusing::Memory, Refusing::Snapshots, Refusing::Replica] {
        let keys = ["done", "new", "running"].map(|key| format!("{key}-{fault:?}"));
        done(&store, &keys[0]).await;
        let running = granted(&store, &keys[2]).await;
        fault.set(&server, true).await;
        let mut answers = store
            .claim(keys.iter().map(|key| request(key)).collect())
            .await
            .into_iter();
        let [replay, refused, held] = [(); 3].map(|()| answers.next().unwrap());
        assert!(
            matches!(replay, Ok(ClaimAnswer::Settled(_))),
            "{fault:?}: {replay:?}"
        );
        assert!(
            matches!(held, Ok(ClaimAnswer::Running { .. })),
            "{fault:?}: {held:?}"
        );
        for error in [
            refused.unwrap_err(),
            store.settle_one(settle(&running)).await.unwrap_err(),
            store.release_one(running.clone()).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), fault.kind(), "{fault:?}: {error}");
        }
        assert!(
            store
                .look_up_one(identity(&keys[1]))
                .await
                .unwrap()
                .is_none()
        );
        // A process that starts meanwhile replays too; on a replica it is not to start at all.
        match config(&server, 300).connect().await {
            Ok(fresh) => {
                let replay = fresh.claim_one(request(&keys[0])).await;
                assert!(
                    matches!(replay, Ok(ClaimAnswer::Settled(_))),
                    "{fault:?}: {replay:?}"
                );
            }
            Err(error) => {
                assert_eq!(
                    (fault, error.kind()),
                    (Refusing::Replica, Kind::ReadOnly),
                    "{error}"
                );
            }
        }
        fault.set(&server, false).await;
        let settled = store.settle_one(settle(&running)).await.unwrap();
        assert_eq!(settled, SettleAnswer::Settled, "{fault:?}");
        granted(&store, &keys[1]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_do_not_wait_for_claims_that_insist_on_a_primary() {
    let server = Server::start("redis", &[]);
    let store = std::sync::Arc::new(connect(&server, 20_000).await);
    done(&store, "done").await;
    Refusing::Replica.set(&server, true).await;
    let claims: Vec<_> = (0..600)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move { granted(&store, &format!("new-{n}")).await })
        })
        .collect();
    for _ in 0..20 {
        let replay = store.claim_one(request("done")).await.unwrap();
        assert!(matches!(replay, ClaimAnswer::Settled(_)), "{replay:?}");
    }
    assert!(claims.iter().all(|claim| !claim.is_finished()));
    Refusing::Replica.set(&server, false).await;
    for claim in claims {
        claim.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_and_loses_nothing() {
    let settings = [
        "appendonly=no",
        "save=3600 1",
        "enable-protected-configs=yes",
    ];
    let server = Server::start("redis", &settings);
    let disk = SmallDisk::mount(8, &server.home());
    let mut node = nodes(&server.url()).remove(0);
    let dir = disk.path().to_str().unwrap();
    tell(&mut node, &["CONFIG", "SET", "dir", dir]);
    tell(&mut node, &["CONFIG", "SET", "appendonly", "yes"]);
    until(async || info(&mut node, "aof_rewrite_in_progress") == "0").await;
    let store = connect(&server, 2_000).await;
    done(&store, "done").await;
    let running = granted(&store, "running").await;
    let filler = disk.fill();
    // The first writes that the log has no room for are only in memory, which `appendfsync everysec` allows.
    let mut refused = None;
    for n in 0..100_000 {
        let key = format!("k-{n}");
        if let Err(error) = store.claim_one(request(&key)).await {
            refused = Some((key, error));
            break;
        }
    }
    let (key, error) = refused.expect("the log has no room");
    assert_eq!(error.kind(), Kind::DiskFull, "{error}");
    assert!(error.to_string().contains("disk"), "{error}");
    assert!(store.look_up_one(identity(&key)).await.unwrap().is_none());
    let replay = store.claim_one(request("done")).await.unwrap();
    assert!(matches!(replay, ClaimAnswer::Settled(_)), "{replay:?}");
    let error = store.settle_one(settle(&running)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::DiskFull, "{error}");
    std::fs::remove_file(filler).unwrap();
    until(async || info(&mut node, "aof_last_write_status") == "ok").await;
    let settled = store.settle_one(settle(&running)).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    done(&store, &key).await;
    drop((store, node, server));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_loads_its_data_is_waited_for() {
    let settings = [
        "appendonly=no",
        "save=3600 1",
        // Settings for tests of Redis itself: a pause per key, and a look at clients every few keys.
        "key-load-delay=1000",
        "loading-process-events-interval-bytes=1024",
    ];
    let server = Server::start("redis", &settings);
    let (patient, hasty) = (connect(&server, 20_000).await, connect(&server, 100).await);
    done(&patient, "done").await;
    let mut node = nodes(&server.url()).remove(0);
    for n in 0..2_000 {
        let (key, value) = (format!("filler-{n}"), "x".repeat(100));
        tell(&mut node, &["SET", &key, &value]);
    }
    tell(&mut node, &["SAVE"]);
    server.kill();
    let server = std::sync::Arc::new(server);
    let starting = tokio::task::spawn_blocking({
        let server = server.clone();
        move || server.restart()
    });
    until(async || is_loading(&server)).await;
    let error = hasty.claim_one(request("new")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    let error = config(&server, 100).connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    assert!(is_loading(&server), "the server loads for longer than that");
    let fresh = connect(&server, 20_000);
    let (replay, fresh) = tokio::join!(patient.claim_one(request("done")), fresh);
    assert!(matches!(replay, Ok(ClaimAnswer::Settled(_))), "{replay:?}");
    granted(&fresh, "new").await;
    starting.await.unwrap();
}

fn is_loading(server: &Server) -> bool {
    nodes(&server.url()).iter_mut().any(|node| {
        let answer = redis::cmd("PING").query::<()>(node);
        matches!(answer, Err(error) if error.code() == Some("LOADING"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_free_connection_is_unavailable_until_it_has_one() {
    let server = Server::start("redis", &["maxclients=8"]);
    let (_, addr) = parts(&server.url());
    let proxy = Proxy::start(addr).await;
    let through = server
        .url()
        .replace(&addr.to_string(), &proxy.addr().to_string());
    let cut = Config::from_url(&through).unwrap().sweep_every(None);
    let cut = cut
        .timeout(Duration::from_millis(300))
        .connect()
        .await
        .unwrap();
    let store = connect(&server, 300).await;
    done(&store, "done").await;
    let mut others = crowd(&server);
    // What is connected goes on; the others hear why they are not.
    done(&store, "connected").await;
    let error = config(&server, 300).connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    assert!(error.to_string().contains("number of clients"), "{error}");
    proxy.cut_all();
    proxy.until(|counts| counts.cut == 1).await;
    // The place that became free is taken as well.
    until(async || {
        others.extend(crowd(&server));
        others.len() == 7
    })
    .await;
    let error = cut.claim_one(request("new")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    drop(others);
    until(async || cut.look_up_one(identity("new")).await.is_ok()).await;
    assert!(cut.look_up_one(identity("new")).await.unwrap().is_none());
    granted(&cut, "new").await;
}

/// Takes all connections that the server has left.
fn crowd(server: &Server) -> Vec<redis::Connection> {
    let mut others = Vec::new();
    while let Some(mut node) = nodes(&server.url()).pop() {
        if redis::cmd("PING").query::<()>(&mut node).is_err() {
            break;
        }
        others.push(node);
    }
    others
}
