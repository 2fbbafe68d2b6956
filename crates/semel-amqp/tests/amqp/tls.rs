//! A broker whose certificate only a private authority vouches for.

#[allow(unreachable_pub, reason = "another crate's tests share it")]
#[path = "../../../semel-postgres/tests/support/authority.rs"]
mod authority;

use authority::Authority;
use semel_amqp::AmqpSource;
use semel_inbox::Source;
use semel_inbox::source::{Settle, Settled};
use semel_testkit::server::{Server, free_port};
use semel_testkit::sources::taking::{ids, settle, take};
use tokio::task::spawn_blocking;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_is_trusted_by_its_certificate_and_no_further() {
    let (ours, other) = (Authority::new(), Authority::new());
    let [certificate, key] = ours.certify("localhost", "rabbitmq");
    let port = free_port();
    let settings = [
        format!("listeners.ssl.1=127.0.0.1:{port}"),
        format!("ssl_options.certfile={certificate}"),
        format!("ssl_options.keyfile={key}"),
        "ssl_options.verify=verify_none".to_owned(),
        "ssl_options.fail_if_no_peer_cert=false".to_owned(),
    ];
    let start = move || Server::start("rabbitmq", &settings.each_ref().map(String::as_str));
    let server = spawn_blocking(start).await.unwrap();
    let world = World::at(&server.url(), &[]).await;
    world.publish(&["a"]).await;
    let source = |host: &str, ca: &str| {
        let queue = &world.queue;
        let url = format!("amqps://{host}:{port}/%2f?queue={queue}&ca={ca}");
        AmqpSource::from_url(&url, "reader").unwrap()
    };
    let trusted = source("localhost", &ours.file());
    trusted.open(Vec::new()).await.unwrap();
    let found = take(&trusted, 1).await;
    assert_eq!(ids(&found), ["a"]);
    let settled = settle(&trusted, &found, Settle::Ack).await;
    assert_eq!(settled, [Settled::Done]);
    trusted.close().await.unwrap();
    for (host, ca, objection) in [
        ("localhost", other.file(), "UnknownIssuer"),
        ("127.0.0.1", ours.file(), "not valid for name"),
        ("localhost", "/nowhere".to_owned(), "the option ca"),
    ] {
        let error = source(host, &ca).open(Vec::new()).await.unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(objection),
            "expected {objection}, found {error}"
        );
    }
    drop(world);
    spawn_blocking(move || drop(server)).await.unwrap();
}
