use std::sync::atomic::{AtomicUsize, Ordering};

use jsonwebtoken::{EncodingKey, Header, encode};
use semel_core::Tenant;
use serde_json::json;

use super::*;
use crate::tenant::{Jwt, jwt::Algorithm as Chosen};

const FAR: u64 = 4_000_000_000;

/// A key pair of Ed25519, by the last byte of its seed.
fn pair(number: u8) -> (EncodingKey, Jwk) {
    // PKCS#8 of Ed25519 is this prefix and a seed of 32 bytes (RFC 8410).
    let mut der = vec![
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ];
    der.extend([7; 31]);
    der.push(number);
    let key = EncodingKey::from_ed_der(&der);
    let jwk = Jwk::from_encoding_key(&key, Algorithm::EdDSA).unwrap();
    (key, jwk)
}

fn published(number: u8, id: &str) -> Value {
    let mut jwk = serde_json::to_value(pair(number).1).unwrap();
    jwk["kid"] = json!(id);
    jwk
}

fn token(number: u8, id: Option<&str>) -> String {
    let mut head = Header::new(Algorithm::EdDSA);
    head.kid = id.map(ToOwned::to_owned);
    encode(
        &head,
        &json!({ "sub": "acme", "exp": FAR }),
        &pair(number).0,
    )
    .unwrap()
}

/// An issuer whose document can be changed, and which counts how often it is asked.
#[derive(Clone)]
struct Issuer(Arc<(StdMutex<std::result::Result<Value, String>>, AtomicUsize)>);

impl Issuer {
    fn new(keys: Vec<Value>) -> Self {
        let document = Ok(json!({ "keys": keys }));
        Self(Arc::new((StdMutex::new(document), AtomicUsize::new(0))))
    }

    fn publish(&self, keys: Vec<Value>) {
        *self.0.0.lock().unwrap() = Ok(json!({ "keys": keys }));
    }

    fn go_away(&self) {
        *self.0.0.lock().unwrap() = Err("refused".to_owned());
    }

    fn loads(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

impl Load for Issuer {
    fn load(&self) -> Loading<'_> {
        Box::pin(async move {
            self.0.1.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            let document = self.0.0.lock().unwrap().clone()?;
            Ok(Bytes::from(document.to_string()))
        })
    }
}

async fn tenant(jwt: &Jwt, token: &str) -> Result<Tenant> {
    jwt.prepare(token).await?;
    jwt.tenant(token)
}

fn of(issuer: &Issuer) -> Jwt {
    // Each test has a place of its own.
    let set = Jwks::at(&format!("issuer {:p}", Arc::as_ptr(&issuer.0)));
    set.load_by(issuer.clone());
    Jwt::of_set("sub", set)
}

async fn minutes(count: u64) {
    tokio::time::advance(Duration::from_secs(60 * count)).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_found_by_its_id_and_the_set_is_loaded_once() {
    let issuer = Issuer::new(vec![published(1, "a"), published(2, "b")]);
    let jwt = of(&issuer);
    for (number, id) in [(1, "a"), (2, "b"), (1, "a")] {
        let found = tenant(&jwt, &token(number, Some(id))).await.unwrap();
        assert_eq!(found.as_str(), "acme");
    }
    assert_eq!(issuer.loads(), 1);
    // Signed by another key than the one it names, or by one that is not there.
    assert!(tenant(&jwt, &token(1, Some("b"))).await.is_err());
    assert!(tenant(&jwt, &token(3, Some("c"))).await.is_err());
    // Two keys could be meant.
    assert!(tenant(&jwt, &token(1, None)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_token_without_an_id_is_checked_if_one_key_can_be_meant() {
    let issuer = Issuer::new(vec![published(1, "a")]);
    let jwt = of(&issuer);
    assert!(tenant(&jwt, &token(1, None)).await.is_ok());
    assert!(tenant(&jwt, &token(2, None)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_loaded_when_a_token_names_it_but_not_as_often_as_tokens_do() {
    let issuer = Issuer::new(vec![published(1, "a")]);
    let jwt = of(&issuer);
    tenant(&jwt, &token(1, Some("a"))).await.unwrap();
    issuer.publish(vec![published(1, "a"), published(2, "b")]);
    minutes(1).await;
    assert!(tenant(&jwt, &token(2, Some("b"))).await.is_ok());
    assert_eq!(issuer.loads(), 2);
    for _ in 0..100 {
        assert!(tenant(&jwt, &token(3, Some("none"))).await.is_err());
    }
    assert_eq!(issuer.loads(), 2, "a storm of unknown ids is not passed on");
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_wait_for_one_load() {
    let issuer = Issuer::new(vec![published(1, "a")]);
    let jwt = of(&issuer);
    let token = token(1, Some("a"));
    let asked = (0..50).map(|_| tenant(&jwt, &token));
    for found in futures_util::future::join_all(asked).await {
        assert!(found.is_ok());
    }
    assert_eq!(issuer.loads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_key_is_forgotten_and_an_issuer_that_is_away_stops_no_known_key() {
    let issuer = Issuer::new(vec![published(1, "a"), published(2, "b")]);
    let jwt = of(&issuer);
    tenant(&jwt, &token(1, Some("a"))).await.unwrap();
    issuer.go_away();
    minutes(60).await;
    assert!(tenant(&jwt, &token(1, Some("a"))).await.is_ok());
    tokio::task::yield_now().await;
    issuer.publish(vec![published(2, "b")]);
    minutes(1).await;
    // The request that notices the age is still answered by what is there; the next one is not.
    let _ = tenant(&jwt, &token(1, Some("a"))).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(tenant(&jwt, &token(1, Some("a"))).await.is_err());
    assert!(tenant(&jwt, &token(2, Some("b"))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn without_any_key_no_token_can_be_checked_and_the_error_says_so() {
    let issuer = Issuer::new(Vec::new());
    let jwt = of(&issuer);
    let error = tenant(&jwt, &token(1, Some("a"))).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    // What no key would make acceptable is refused without asking the issuer.
    let shared = encode(
        &Header::default(),
        &json!({ "sub": "acme", "exp": FAR }),
        &EncodingKey::from_secret(b"public"),
    );
    let error = tenant(&jwt, &shared.unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert_eq!(issuer.loads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_set_brings_no_shared_secret_and_may_be_bound_to_one_algorithm() {
    let secret = json!({ "kty": "oct", "kid": "s", "alg": "HS256", "k": "cHVibGlj" });
    let issuer = Issuer::new(vec![secret, published(1, "a")]);
    let mut head = Header::new(Algorithm::HS256);
    head.kid = Some("s".to_owned());
    let claims = json!({ "sub": "acme", "exp": FAR });
    let forged = encode(&head, &claims, &EncodingKey::from_secret(b"public")).unwrap();
    assert!(tenant(&of(&issuer), &forged).await.is_err());
    let bound = of(&issuer).signed_with(Chosen::Rs256);
    assert!(tenant(&bound, &token(1, Some("a"))).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn after_a_day_without_its_issuer_a_set_is_not_believed_and_an_emptied_one_never() {
    let issuer = Issuer::new(vec![published(1, "a")]);
    let jwt = of(&issuer);
    tenant(&jwt, &token(1, Some("a"))).await.unwrap();
    issuer.go_away();
    minutes(24 * 60).await;
    let error = tenant(&jwt, &token(1, Some("a"))).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    issuer.publish(vec![published(1, "a")]);
    minutes(1).await;
    assert!(tenant(&jwt, &token(1, Some("a"))).await.is_ok());
    issuer.publish(Vec::new());
    minutes(10).await;
    let _ = tenant(&jwt, &token(1, Some("a"))).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(tenant(&jwt, &token(1, Some("a"))).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn one_place_is_one_set_and_a_new_configuration_keeps_its_keys() {
    let issuer = Issuer::new(vec![published(1, "a")]);
    let before = of(&issuer);
    tenant(&before, &token(1, Some("a"))).await.unwrap();
    let after = of(&issuer);
    issuer.go_away();
    drop(before);
    assert!(tenant(&after, &token(1, Some("a"))).await.is_ok());
    assert_eq!(issuer.loads(), 1);
}

#[test]
fn keys_that_check_no_signatures_are_left_out_and_what_is_no_set_is_refused() {
    let mut encrypting = published(1, "e");
    encrypting["use"] = json!("enc");
    let odd = json!({ "kty": "new-kind", "kid": "n" });
    let mut many = vec![encrypting, odd, json!("no key at all")];
    let document = |keys: &Vec<Value>| json!({ "keys": keys }).to_string();
    assert_eq!(read(document(&many).as_bytes()).unwrap().len(), 0);
    many.push(published(2, "s"));
    assert_eq!(read(document(&many).as_bytes()).unwrap().len(), 1);
    for bad in ["", "[]", "{}", "{\"keys\": 1}"] {
        assert!(read(bad.as_bytes()).is_err(), "{bad}");
    }
    let flood = vec![json!({}); KEYS_MAX + 1];
    assert!(read(document(&flood).as_bytes()).is_err());
    assert!(read(&vec![b' '; BYTES_MAX + 1]).is_err());
}
