//! Callers by a claim of their token, checked with the keys that its issuer publishes.

use std::sync::{Arc, Mutex};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use semel_http::tenant::{self, Jwks, Jwt};
use serde_json::{Value, json};

use crate::support::message::Message;
use crate::support::{OK, PATIENCE, Running, Upstream, guarding, reply, start};

/// A key pair of Ed25519, by the last byte of its seed.
fn pair(number: u8) -> EncodingKey {
    // PKCS#8 of Ed25519 is this prefix and a seed of 32 bytes (RFC 8410).
    let mut der = vec![
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ];
    der.extend([9; 31]);
    der.push(number);
    EncodingKey::from_ed_der(&der)
}

fn published(number: u8) -> Value {
    let jwk = Jwk::from_encoding_key(&pair(number), Algorithm::EdDSA).unwrap();
    let mut jwk = serde_json::to_value(jwk).unwrap();
    jwk["kid"] = json!(format!("key-{number}"));
    jwk
}

/// A token for `org`; each is another token, as after a rotation.
fn token(number: u8, org: &str, serial: u64) -> String {
    let mut head = Header::new(Algorithm::EdDSA);
    head.kid = Some(format!("key-{number}"));
    let claims =
        json!({ "https://shop.example/org": org, "jti": serial, "exp": 4_000_000_000_u64 });
    encode(&head, &claims, &pair(number)).unwrap()
}

/// An issuer that publishes these keys until they are changed.
async fn issuer(keys: &Arc<Mutex<Vec<u8>>>) -> Upstream {
    let keys = keys.clone();
    Upstream::start(move |_request, mut peer| {
        let keys: Vec<_> = keys
            .lock()
            .unwrap()
            .iter()
            .copied()
            .map(published)
            .collect();
        async move {
            let document = json!({ "keys": keys }).to_string();
            peer.send(reply("200 OK", "", &document)).await;
            Some(peer)
        }
    })
    .await
}

fn gateway(upstream: &Upstream, issuer: &str) -> Running {
    let set = Jwks::at(&format!("{issuer}/jwks.json"));
    let jwt = Jwt::of_set("https://shop.example/org", set);
    start(guarding(upstream.url(), |rules| {
        rules.tenant = tenant::Source::Jwt(Box::new(jwt));
    }))
}

async fn pay(gateway: &Running, key: &str, token: &str) -> Message {
    let request = format!(
        "POST /pay HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n\
         Content-Length: 0\r\n\r\n"
    );
    gateway.call(request).await
}

#[tokio::test]
async fn a_rotated_token_of_the_same_caller_gets_the_first_answer() {
    let keys = Arc::new(Mutex::new(vec![1, 2]));
    let (upstream, issuer) = (Upstream::answering(OK).await, issuer(&keys).await);
    let gateway = gateway(&upstream, &issuer.url());
    let first = pay(&gateway, "k", &token(1, "acme", 1)).await;
    let again = pay(&gateway, "k", &token(2, "acme", 2)).await;
    let other = pay(&gateway, "k", &token(1, "zenith", 3)).await;
    assert_eq!((first.is_replay(), again.is_replay()), (false, true));
    assert_eq!((other.status(), other.is_replay()), (200, false));
    assert_eq!(upstream.effects(), 2);
    assert_eq!(issuer.seen().len(), 1, "loaded once");
}

#[tokio::test]
async fn a_key_that_the_issuer_has_just_published_is_accepted() {
    let keys = Arc::new(Mutex::new(vec![1]));
    let (upstream, issuer) = (Upstream::answering(OK).await, issuer(&keys).await);
    let gateway = gateway(&upstream, &issuer.url());
    let unknown = pay(&gateway, "k", &token(2, "acme", 1)).await;
    assert_eq!(unknown.problem(), (401, "tenant-missing".to_owned()));
    keys.lock().unwrap().push(2);
    let accepted =
        async { while pay(&gateway, "k", &token(2, "acme", 1)).await.status() != 200 {} };
    tokio::time::timeout(PATIENCE, accepted).await.unwrap();
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn without_the_issuers_keys_nothing_runs_and_the_caller_may_come_back() {
    let keys = Arc::default();
    let (upstream, issuer) = (Upstream::answering(OK).await, issuer(&keys).await);
    let gateway = gateway(&upstream, &issuer.url());
    let refused = pay(&gateway, "k", &token(1, "acme", 1)).await;
    assert_eq!(refused.problem(), (503, "keys-unavailable".to_owned()));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(upstream.effects(), 0);
    keys.lock().unwrap().push(1);
    let accepted =
        async { while pay(&gateway, "k", &token(1, "acme", 1)).await.status() != 200 {} };
    tokio::time::timeout(PATIENCE, accepted).await.unwrap();
    assert_eq!(upstream.effects(), 1);
}
