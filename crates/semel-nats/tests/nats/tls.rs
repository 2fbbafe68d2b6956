//! A server whose certificate only a private authority vouches for.

#[allow(unreachable_pub, reason = "another crate's tests share it")]
#[path = "../../../semel-postgres/tests/support/authority.rs"]
mod authority;

use async_nats::ConnectOptions;
use authority::Authority;
use semel_inbox::Source;
use semel_inbox::source::{Settle, Settled};
use semel_nats::NatsSource;
use semel_testkit::server::Server;
use semel_testkit::sources::taking::{ids, settle, take};
use tokio::task::spawn_blocking;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_trusted_by_its_certificate_and_no_further() {
    let (ours, other) = (Authority::new(), Authority::new());
    let [certificate, key] = ours.certify("localhost", "root");
    let tls = format!("tls={{ cert_file: \"{certificate}\", key_file: \"{key}\" }}");
    let server = spawn_blocking(move || Server::start("nats", &[&tls]));
    let server = server.await.unwrap();
    let (_, port) = server.url().rsplit_once(':').map(owned).unwrap();
    // Ours comes first: in a program with several providers of cryptography the client would panic if ours had not chosen one.
    let early = format!("tls://localhost:{port}/missing?ca={}", ours.file());
    let early = NatsSource::from_url(&early, "reader").unwrap();
    let error = early.open(Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains("missing"), "it was let in: {error}");
    let options = ConnectOptions::new().add_root_certificates(ours.file().into());
    let client = options.connect(format!("tls://localhost:{port}")).await;
    let world = World::of(client.unwrap(), &format!("localhost:{port}"), |_| {}).await;
    world.publish(&["a"]).await;
    let source = |scheme: &str, host: &str, options: &str| {
        let url = format!("{scheme}://{host}:{port}/{}?{options}", world.stream);
        NatsSource::from_url(&url, "reader").unwrap()
    };
    let ca = |authority: &Authority| format!("ca={}", authority.file());
    let trusted = source("tls", "localhost", &ca(&ours));
    trusted.open(Vec::new()).await.unwrap();
    let found = take(&trusted, 1).await;
    assert_eq!(ids(&found), ["a"]);
    let settled = settle(&trusted, &found, Settle::Ack).await;
    assert_eq!(settled, [Settled::Done]);
    trusted.close().await.unwrap();
    for (scheme, host, options) in [
        ("tls", "localhost", ca(&other)),
        ("tls", "127.0.0.1", ca(&ours)),
        // The server wants TLS, whatever the address says.
        ("nats", "localhost", String::new()),
    ] {
        let untrusted = source(scheme, host, &options);
        let error = untrusted.open(Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains("certificate"), "{scheme} {host}: {error}");
    }
    drop(world);
    spawn_blocking(move || drop(server)).await.unwrap();
}

fn owned((host, port): (&str, &str)) -> (String, String) {
    (host.to_owned(), port.to_owned())
}
