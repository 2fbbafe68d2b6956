//! A server whose certificate only a private authority vouches for.

#[allow(unreachable_pub, reason = "another crate's tests share it")]
#[path = "../../../semel-postgres/tests/support/authority.rs"]
mod authority;

use authority::Authority;
use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Settle, Settled};
use semel_redis_streams::{RedisStreamsOutlet, RedisStreamsSource};
use semel_testkit::server::{Server, free_port};
use semel_testkit::sources::taking::{outgoing, settle, take};
use tokio::task::spawn_blocking;

use crate::common::payloads;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_trusted_by_its_certificate_and_no_further() {
    let (ours, other) = (Authority::new(), Authority::new());
    let [certificate, key] = ours.certify("localhost", "redis");
    let port = free_port();
    let settings = [
        format!("tls-port={port}"),
        format!("tls-cert-file={certificate}"),
        format!("tls-key-file={key}"),
        format!("tls-ca-cert-file={certificate}"),
        "tls-auth-clients=no".to_owned(),
    ];
    let start = move || Server::start("redis", &settings.each_ref().map(String::as_str));
    let server = spawn_blocking(start).await.unwrap();
    let url = server.url();
    let password = url.strip_prefix("redis://").unwrap();
    let (password, _) = password.split_once('@').unwrap();
    let at = |host: &str, ca: &str| {
        format!("redis-streams://{password}@{host}:{port}/orders?tls=true&cacert={ca}")
    };
    let trusted = at("localhost", &ours.file());
    let outlet = RedisStreamsOutlet::from_url(&trusted).unwrap();
    let sent = outlet.send(vec![outgoing("a")]).await;
    assert!(matches!(sent[0], Sent::Done(_)), "{sent:?}");
    let source = RedisStreamsSource::from_url(&trusted, "billing").unwrap();
    source.open(Vec::new()).await.unwrap();
    let found = take(&source, 1).await;
    assert_eq!(payloads(&found), ["a"]);
    let settled = settle(&source, &found, Settle::Ack).await;
    assert_eq!(settled, [Settled::Done]);
    for (host, ca, objection) in [
        ("localhost", other.file(), "UnknownIssuer"),
        ("127.0.0.1", ours.file(), "not valid for name"),
        ("localhost", "/nowhere".to_owned(), "/nowhere"),
    ] {
        let source = RedisStreamsSource::from_url(&at(host, &ca), "billing").unwrap();
        let error = source.open(Vec::new()).await.unwrap_err().to_string();
        assert!(
            error.contains(objection),
            "expected {objection}, found {error}"
        );
        assert!(!error.contains(password), "{error}");
    }
    drop((source, outlet));
    spawn_blocking(move || drop(server)).await.unwrap();
}
