//! Who may come in.

use std::net::SocketAddr;
use std::sync::Arc;

use insta::assert_snapshot;
use semel_admin::{Admin, Config, Metered, Metrics, Parts, Secret, Tokens};
use semel_core::MemoryStore;

use crate::http::{get_with, raw};
use crate::server::Server;

const TOKEN: &str = "correct-horse-battery-staple";

fn with_token() -> Config {
    Config {
        tokens: Tokens::admin(Secret::new(TOKEN).unwrap()),
        ..Config::default()
    }
}

#[tokio::test]
async fn beyond_loopback_a_token_is_needed() {
    let store = Metered::new(Arc::new(MemoryStore::new()), Arc::new(Metrics::new()));
    let mut config = Config {
        listen: SocketAddr::from(([0, 0, 0, 0], 0)).into(),
        ..Config::default()
    };
    let refused = Admin::bind(&config, Parts::new(store.clone())).await;
    assert_snapshot!(refused.unwrap_err(), @"
    the admin side needs a token to listen on 0.0.0.0:0, because other machines can reach it: set admin.token or admin.tokens, or listen on 127.0.0.1
    ");
    config.tokens = with_token().tokens;
    assert!(Admin::bind(&config, Parts::new(store)).await.is_ok());
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let server = Server::start().await;
    let store = Metered::new(server.store.clone(), server.metrics.clone());
    let config = Config {
        listen: server.address.into(),
        ..Config::default()
    };
    let error = Admin::bind(&config, Parts::new(store)).await.unwrap_err();
    assert!(error.is_retryable());
    let expected = format!("the admin side cannot listen on {}", server.address);
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn with_a_token_every_address_but_health_needs_it() {
    let server = Server::start_with(with_token(), |store| store).await;
    let get = |path, headers: String| async move { get_with(server.address, path, &headers).await };
    let refused = get("/metrics", "Host: localhost\r\n".to_owned()).await;
    assert_eq!(
        refused.header("www-authenticate"),
        Some("Bearer realm=\"semel\"")
    );
    assert_snapshot!(refused.shown(), @r#"
    401
    {
      "detail": "send the header Authorization: Bearer TOKEN with a token of the admin side",
      "ran": "no",
      "status": 401,
      "title": "The token is missing, wrong or expired",
      "type": "urn:semel:problem:unauthorized"
    }
    "#);
    for path in ["/", "/api/v1/stats", "/api/v1/openapi.json", "/nowhere"] {
        assert_eq!(get(path, String::new()).await.status, 401, "{path}");
    }
    let wrong = format!("Authorization: Bearer {TOKEN}r\r\n");
    assert_eq!(get("/metrics", wrong).await.status, 401);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(path, String::new()).await.status, 200, "{path}");
    }
    let right = format!("Host: semel.internal\r\nAuthorization: Bearer {TOKEN}\r\n");
    assert_eq!(get("/api/v1/stats", right).await.status, 200);
}

#[tokio::test]
async fn a_web_page_elsewhere_can_do_nothing() {
    let server = Server::start().await;
    let rebound = get_with(
        server.address,
        "/api/v1/stats",
        "Host: evil.example:7071\r\n",
    )
    .await;
    assert_eq!(
        (rebound.status, rebound.problem().as_str()),
        (403, "host-refused")
    );
    let form = "POST /api/v1/claims HTTP/1.1\r\nHost: localhost:7071\r\nConnection: close\r\n\
                Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}";
    let form = raw(server.address, form.as_bytes()).await;
    assert_eq!((form.status, form.problem().as_str()), (415, "media-type"));
    let preflight = "OPTIONS /api/v1/claims HTTP/1.1\r\nHost: localhost:7071\r\n\
                     Connection: close\r\nOrigin: https://evil.example\r\n\
                     Access-Control-Request-Method: POST\r\n\r\n";
    let preflight = raw(server.address, preflight.as_bytes()).await;
    assert_eq!(preflight.status, 405);
    assert_eq!(preflight.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn addresses_that_do_not_exist_are_problems_too() {
    let server = Server::start().await;
    assert_eq!(server.get("/nowhere").await.problem(), "not-found");
    let wrong_method = server.get("/api/v1/claims/settle").await;
    assert_eq!(wrong_method.problem(), "method-not-allowed");
    assert_eq!(wrong_method.header("allow"), Some("POST"));
}

#[tokio::test]
async fn answers_are_neither_kept_nor_guessed_at() {
    let server = Server::start().await;
    for path in ["/", "/metrics", "/api/v1/stats", "/nowhere"] {
        let answer = server.get(path).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
    }
}

#[test]
fn the_token_shows_nowhere() {
    let config = with_token();
    assert!(!format!("{config:?}").contains("horse"), "{config:?}");
}
