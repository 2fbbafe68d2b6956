//! A server whose certificate only a private authority vouches for.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

#[allow(unreachable_pub, reason = "another crate's tests share it")]
#[path = "../../semel-postgres/tests/support/authority.rs"]
mod authority;

use authority::Authority;
use semel_core::store::{ClaimAnswer, ClaimRequest, Takeover};
use semel_core::{Fingerprint, Identity, LeaseTerm, StoreExt};
use semel_redis::Config;
use semel_testkit::server::{Server, free_port};

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
    let settings = settings.each_ref().map(String::as_str);
    let server = Server::start("redis", &settings);
    let url = server.url();
    let (password, _) = url
        .strip_prefix("redis://")
        .unwrap()
        .split_once('@')
        .unwrap();
    let (ours, other) = (ours.file(), other.file());
    let at =
        |host: &str, parameters: &str| format!("rediss://{password}@{host}:{port}/0{parameters}");
    for (url, objection) in [
        (at("localhost", &format!("?cacert={ours}")), None),
        (
            at("localhost", &format!("?cacert={other}")),
            Some("UnknownIssuer"),
        ),
        (at("localhost", ""), Some("certificate")),
        (
            at("127.0.0.1", &format!("?cacert={ours}")),
            Some("not valid for name"),
        ),
        (at("localhost", "?cacert=/nowhere"), Some("/nowhere")),
    ] {
        match (Config::from_url(&url).unwrap().connect().await, objection) {
            (Ok(store), None) => {
                let answer = store.claim_one(request("k")).await.unwrap();
                assert!(matches!(answer, ClaimAnswer::Granted(_)), "{answer:?}");
            }
            (Err(error), Some(part)) => {
                assert!(
                    error.to_string().contains(part),
                    "expected {part}, found {error}"
                );
            }
            (Ok(_), Some(part)) => panic!("expected {part}, found a connection"),
            (Err(error), None) => panic!("expected a connection, found {error}"),
        }
    }
}
