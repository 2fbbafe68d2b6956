//! Which operation a request is: who sends it, where its key is, and what it asks for.

use axum::Router;
use axum::routing::post;
use semel_core::{MemoryStore, Once};
use semel_http::fingerprint::{AskedUri, By};
use semel_http::key::Source;
use semel_http::rules::Missing;
use semel_http::{Profile, Rules, SemelLayer, tenant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Answer, Asked, Service};

#[tokio::test]
async fn a_retry_that_is_signed_anew_is_a_duplicate() {
    let service = Service::start(|_| {}).await;
    let mut effects = 0;
    for (first, again, other) in [
        (
            "AWS4-HMAC-SHA256 Credential=AKIA1/20261117/eu-west-1/pay/aws4_request, SignedHeaders=host, Signature=aa",
            "AWS4-HMAC-SHA256 Credential=AKIA1/20261118/eu-west-1/pay/aws4_request, SignedHeaders=host, Signature=bb",
            "AWS4-HMAC-SHA256 Credential=AKIA2/20261117/eu-west-1/pay/aws4_request, SignedHeaders=host, Signature=aa",
        ),
        (
            r#"Digest username="ada", realm="pay", nonce="1", uri="/pay", response="aa""#,
            r#"Digest username="ada", realm="pay", nonce="2", uri="/pay", response="bb""#,
            r#"Digest username="bob", realm="pay", nonce="1", uri="/pay", response="aa""#,
        ),
        (
            r#"OAuth oauth_consumer_key="shop", oauth_nonce="1", oauth_signature="aa""#,
            r#"OAuth oauth_consumer_key="shop", oauth_nonce="2", oauth_signature="bb""#,
            r#"OAuth oauth_consumer_key="mall", oauth_nonce="1", oauth_signature="aa""#,
        ),
        (
            r#"Hawk id="shop", ts="1", nonce="a", mac="aa=""#,
            r#"Hawk id="shop", ts="2", nonce="b", mac="bb=""#,
            r#"Hawk id="mall", ts="1", nonce="a", mac="aa=""#,
        ),
        ("Basic YTpi", "Basic YTpi", "Basic YTpj"),
        ("sk_live_1", "sk_live_1", "sk_live_2"),
    ] {
        let send = async |credential: &str| {
            let asked = Asked::pay("k", "42").with("Authorization", credential);
            service.send(&asked).await
        };
        assert_eq!(send(first).await.status, 201, "{first}");
        assert!(send(again).await.is_replay(), "{again}");
        assert!(!send(other).await.is_replay(), "{other}");
        effects += 2;
        assert_eq!(service.effects(), effects, "{first}");
    }
}

#[tokio::test]
async fn a_credential_without_a_stable_part_is_refused_with_the_remedy() {
    let service = Service::start(|_| {}).await;
    for credential in [
        "Negotiate YIIJvwYG",
        "NTLM TlRMTVNTUAAB",
        "Custom 42",
        "Bearer",
        "Digest realm=\"pay\"",
        "AWS4-HMAC-SHA256 Signature=aa",
    ] {
        let asked = Asked::pay("k", "42").with("Authorization", credential);
        let answer = service.send(&asked).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (401, "tenant-missing".into()),
            "{credential}"
        );
        for remedy in ["header", "jwt_claim"] {
            assert!(answer.body.contains(remedy), "{}", answer.body);
        }
    }
    assert_eq!(service.effects(), 0);
}

#[tokio::test]
async fn another_host_or_account_never_gets_the_firsts_answer() {
    let service = Service::start(|rules| *rules = Profile::Stripe.rules(rules.scope.clone())).await;
    let of = |host, account| {
        let asked = Asked::pay("k", "42").with("Host", host);
        match account {
            Some(account) => asked.with("Stripe-Account", account),
            None => asked,
        }
    };
    assert_eq!(
        service
            .send(&of("shop.example", Some("acct_1")))
            .await
            .status,
        201
    );
    let same = service.send(&of("SHOP.example:80", Some("acct_1"))).await;
    assert!(same.is_replay());
    for (host, account) in [
        ("mall.example", Some("acct_1")),
        ("shop.example", Some("acct_2")),
        ("shop.example", None),
    ] {
        let answer = service.send(&of(host, account)).await;
        assert_eq!(answer.problem(), "key-reused", "{host} {account:?}");
    }
    let context = of("shop.example", Some("acct_1")).with("Stripe-Context", "acct_3");
    assert_eq!(service.send(&context).await.problem(), "key-reused");
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn the_routes_own_headers_count() {
    let service = Service::start(|rules| {
        rules.fingerprint = By::Exclude(vec!["at".parse().unwrap()]);
        rules.fingerprint_head.headers = vec!["x-region".parse().unwrap()];
    })
    .await;
    let of = |region, body| Asked::pay("k", body).with("X-Region", region);
    service.send(&of("eu", r#"{"a":1,"at":1}"#)).await;
    assert!(
        service
            .send(&of("eu", r#"{"a":1,"at":2}"#))
            .await
            .is_replay()
    );
    let other = service.send(&of("us", r#"{"a":1,"at":1}"#)).await;
    assert_eq!(
        (other.problem(), service.effects()),
        ("key-reused".into(), 1)
    );
}

#[tokio::test]
async fn a_nested_service_is_known_by_the_uri_that_was_asked() {
    let once = Once::new(MemoryStore::new());
    let nested = || {
        let rules = Rules::new("payments@1".parse().unwrap());
        let pay = Router::new().route("/pay", post(|| async { "paid" }));
        pay.layer(SemelLayer::new(&once, rules))
    };
    let app = Router::new().nest("/eu", nested()).nest("/us", nested());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let send = async |path: &str| {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let text = Asked::pay("k", "").at(path).text();
        stream.write_all(text.as_bytes()).await.unwrap();
        Answer::read(&mut stream).await
    };
    assert_eq!(send("/eu/pay").await.status, 200);
    assert!(send("/eu/pay").await.is_replay());
    assert_eq!(send("/us/pay").await.problem(), "key-reused");
}

#[tokio::test]
async fn without_axum_a_rewritten_uri_is_told_by_an_extension() {
    let rules = Rules::new("payments@1".parse().unwrap());
    let of = async |asked: Option<&'static str>| {
        let mut request = axum::http::Request::post("/pay").body(()).unwrap();
        if let Some(uri) = asked {
            let uri = AskedUri(uri.parse().unwrap());
            request.extensions_mut().insert(uri);
        }
        let (parts, ()) = request.into_parts();
        rules.fingerprint_of(&parts, &"".into()).await
    };
    assert_eq!(of(None).await, of(Some("/pay")).await);
    assert_ne!(of(Some("/eu/pay")).await, of(Some("/us/pay")).await);
}

fn in_body(rules: &mut Rules) {
    rules.key = Source::Body("idempotency_key".parse().unwrap()).into();
    rules.missing = Missing::Pass;
    rules.tenant = tenant::Source::Public;
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data; boundary=B";

#[tokio::test]
async fn a_key_in_a_body_that_can_be_read_guards() {
    let part =
        "--B\r\nContent-Disposition: form-data; name=\"idempotency_key\"\r\n\r\nk\r\n--B--\r\n";
    for (kind, body) in [
        (JSON, r#"{"idempotency_key":"k"}"#),
        (FORM, r#"{"idempotency_key":"k"}"#),
        (JSON, "\u{feff}{\"idempotency_key\":\"k\"}"),
        (FORM, "idempotency_key=k&item=1&item=2"),
        (PARTS, part),
    ] {
        let service = Service::start(in_body).await;
        let asked = Asked::plain(body).with("Content-Type", kind);
        assert_eq!(service.send(&asked).await.status, 201, "{kind} {body}");
        assert!(service.send(&asked).await.is_replay(), "{kind} {body}");
        assert_eq!(service.effects(), 1);
    }
}

#[tokio::test]
async fn a_key_in_a_body_that_cannot_be_read_never_passes() {
    let service = Service::start(in_body).await;
    let file = "--B\r\nContent-Disposition: form-data; name=\"idempotency_key\"; filename=\"f\"\r\n\r\nk\r\n--B--\r\n";
    for (kind, encoding, body) in [
        (JSON, "identity", r#"{"idempotency_key":"k","a":"\ud83d"}"#),
        (JSON, "identity", r#"{"idempotency_key":"k","a":1e999}"#),
        (JSON, "identity", r#"{"idempotency_key":"k""#),
        (JSON, "gzip", r#"{"idempotency_key":"k"}"#),
        (FORM, "br", "idempotency_key=k"),
        (PARTS, "identity", file),
        (PARTS, "identity", "--B\r\nidempotency_key"),
        (
            "application/xml",
            "identity",
            "<idempotency_key>k</idempotency_key>",
        ),
        ("text/plain", "identity", "idempotency_key=k"),
    ] {
        let asked = Asked::plain(body)
            .with("Content-Type", kind)
            .with("Content-Encoding", encoding);
        let answer = service.send(&asked).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (400, "key-invalid".into()),
            "{kind} {encoding} {body}"
        );
    }
    assert_eq!(service.effects(), 0);
    for body in [r#"{"a":1}"#, ""] {
        let asked = Asked::plain(body).with("Content-Type", JSON);
        assert_eq!(service.send(&asked).await.status, 201, "{body}");
    }
    assert_eq!(service.effects(), 2);
}

#[tokio::test]
async fn a_list_of_places_goes_on_after_a_template_whose_field_is_missing() {
    let service = Service::start(|rules| {
        let places = vec![
            Source::Header("idempotency-key".parse().unwrap()),
            Source::Template("{orderId}#{header.x-line}".parse().unwrap()),
            Source::Derive,
        ];
        rules.key = semel_http::key::Sources::new(places).unwrap();
        rules.tenant = tenant::Source::Public;
    })
    .await;
    let (order, other) = (r#"{"orderId":1}"#, r#"{"orderId":1,"at":2}"#);
    let derived = Asked::plain(order).with("Content-Type", JSON);
    assert_eq!(service.send(&derived).await.status, 201);
    assert!(service.send(&derived).await.is_replay());
    let by_template = |body| {
        Asked::plain(body)
            .with("Content-Type", JSON)
            .with("X-Line", "7")
    };
    assert_eq!(service.send(&by_template(order)).await.status, 201);
    assert_eq!(
        service.send(&by_template(other)).await.problem(),
        "key-reused"
    );
    let twice = service.send(&by_template(order).with("X-Line", "8")).await;
    assert_eq!((twice.status, twice.problem()), (400, "key-invalid".into()));
    assert_eq!(service.effects(), 2);
}
