//! Which servers are refused at the start, and what is said about those that are accepted.

mod common;

use std::time::Duration;

use common::{nodes, url};
use semel_core::{Error, Kind};
use semel_redis::{Config, RedisStore};
use semel_testkit::server::Server;

async fn connect(url: &str) -> Result<RedisStore, Error> {
    Config::from_url(url)?.sweep_every(None).connect().await
}

async fn refusal(url: &str) -> Error {
    let refused = connect(url).await;
    refused.expect_err("a server that must be refused")
}

#[tokio::test]
async fn a_server_that_may_evict_keys_is_refused_unless_accepted() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let setting = format!("maxmemory-policy={policy}");
        let server = Server::start("redis", &["maxmemory=100mb", &setting]);
        let error = refusal(&server.url()).await;
        assert_eq!(error.kind(), Kind::Invalid);
        for part in ["noeviction", policy, "accept=eviction"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let store = connect(&format!("{}?accept=eviction", server.url()))
            .await
            .unwrap();
        let notes = store.notes();
        assert!(notes.iter().any(|note| note.contains(policy)), "{notes:?}");
    }
}

#[tokio::test]
async fn a_server_without_persistence_is_refused_unless_accepted() {
    let server = Server::start("redis", &["appendonly=no", "save="]);
    let error = refusal(&server.url()).await;
    assert_eq!(error.kind(), Kind::Invalid);
    for part in ["append-only", "save points", "accept=no-persistence"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let store = connect(&format!("{}?accept=no-persistence", server.url()))
        .await
        .unwrap();
    let notes = store.notes();
    assert!(
        notes
            .iter()
            .any(|note| note.contains("nothing is kept on disk")),
        "{notes:?}"
    );
}

#[tokio::test]
async fn snapshots_and_syncs_are_told() {
    for (settings, told) in [
        (
            ["appendonly=yes", "appendfsync=always"],
            "before it is granted",
        ),
        (["appendonly=yes", "appendfsync=everysec"], "last second"),
        (["appendonly=no", "save=60 1000"], "snapshots only"),
    ] {
        let server = Server::start("redis", &settings);
        let notes = connect(&server.url()).await.unwrap().notes();
        assert!(
            notes.iter().any(|note| note.contains(told)),
            "{settings:?}: {notes:?}"
        );
    }
}

#[tokio::test]
async fn a_user_who_may_not_read_settings_is_told_what_could_not_be_seen() {
    let server = Server::start("redis", &[]);
    let mut node = nodes(&server.url()).remove(0);
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER")
        .arg("plain")
        .arg("on")
        .arg(">pw")
        .arg("~*")
        .arg("+@all")
        .arg("-config");
    user.query::<()>(&mut node).unwrap();
    redis::cmd("CONFIG")
        .arg("SET")
        .arg("appendonly")
        .arg("no")
        .query::<()>(&mut node)
        .unwrap();
    let (_, host) = server
        .url()
        .rsplit_once('@')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let notes = connect(&format!("redis://plain:pw@{host}"))
        .await
        .unwrap()
        .notes();
    assert!(
        notes.iter().any(|note| note.contains("could not be seen")),
        "{notes:?}"
    );
}

#[tokio::test]
async fn a_wrong_password_is_told_and_not_repeated() {
    let url = url(common::SINGLE);
    let (_, host) = url
        .rsplit_once('@')
        .map_or(("", url.trim_start_matches("redis://")), |(a, b)| (a, b));
    let error = refusal(&format!("redis://:not-the-password@{host}")).await;
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(error.to_string().contains("password"), "{error}");
    assert!(!format!("{error} {error:?}").contains("not-the-password"));
}

#[tokio::test]
async fn a_replica_is_refused() {
    let server = Server::start("redis", &[]);
    let mut node = nodes(&server.url()).remove(0);
    redis::cmd("REPLICAOF")
        .arg("127.0.0.1")
        .arg(1)
        .query::<()>(&mut node)
        .unwrap();
    let error = refusal(&server.url()).await;
    assert_eq!(error.kind(), Kind::ReadOnly, "{error}");
    assert!(error.to_string().contains("replica"), "{error}");
}

#[tokio::test]
async fn a_node_of_a_cluster_is_no_single_server() {
    let url = url(common::CLUSTER);
    let first = url.split(',').next().unwrap();
    let error = refusal(&first.replace("redis-cluster://", "redis://")).await;
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("redis-cluster://"), "{error}");
}

#[tokio::test]
async fn a_newer_format_is_refused() {
    let url = url(common::SINGLE);
    let prefix = common::Prefix::new(&url);
    let key = format!("{{{}:format}}", prefix.name);
    let mut node = nodes(&url).remove(0);
    redis::cmd("SET")
        .arg(&key)
        .arg("3")
        .query::<()>(&mut node)
        .unwrap();
    let error = prefix.config().connect().await.expect_err("a newer format");
    assert_eq!(error.kind(), Kind::NewerVersion);
}

#[tokio::test]
async fn the_format_before_is_brought_up_to_date() {
    let url = url(common::SINGLE);
    let prefix = common::Prefix::new(&url);
    let key = format!("{{{}:format}}", prefix.name);
    let mut node = nodes(&url).remove(0);
    let set = redis::cmd("SET").arg(&key).arg("1").take();
    set.query::<()>(&mut node).unwrap();
    prefix.config().connect().await.unwrap();
    let found: String = redis::cmd("GET").arg(&key).query(&mut node).unwrap();
    assert_eq!(found, "2");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let config = Config::from_url("redis://127.0.0.1:1")
        .unwrap()
        .timeout(Duration::from_millis(200));
    let error = config.connect().await.expect_err("nobody listens");
    assert_eq!(error.kind(), Kind::Unavailable);
}
