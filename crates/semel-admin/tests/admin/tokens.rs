//! What each token may do.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use semel_admin::{Config, Grant, Reach, Role, Secret, Token, Tokens};
use semel_core::{Clock, Timestamp};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::http::{Response, get_with, raw};
use crate::server::{Server, about, query};

/// The secret of the token with this name.
pub(crate) fn secret(name: &str) -> String {
    format!("secret-of-{name}-0123456789")
}

fn token(name: &str, grant: Grant) -> Token {
    let secret = Secret::new(secret(name)).unwrap();
    // As the file keeps it: by its hash.
    let secret = Secret::from_hash(&secret.hash()).unwrap();
    Token::new(name.parse().unwrap(), secret, grant).unwrap()
}

fn claims(tenant: Option<&str>, scopes: &[&str]) -> Grant {
    Grant::Claims(Reach {
        tenant: tenant.map(|tenant| tenant.parse().unwrap()),
        scopes: scopes.iter().map(|scope| scope.parse().unwrap()).collect(),
    })
}

/// One token of each role; that for claims is for acme's payments.
pub(crate) fn each_role() -> Vec<Token> {
    vec![
        token("claims", claims(Some("acme"), &["payments"])),
        token("read", Grant::Read),
        token("operate", Grant::Operate),
        token("boss", Grant::Admin),
    ]
}

pub(crate) async fn serve(tokens: Vec<Token>) -> Server {
    let config = Config {
        tokens: Tokens::new(tokens).unwrap(),
        ..Config::default()
    };
    Server::start_with(config, |store| store).await
}

impl Server {
    /// A post by the holder of a token.
    pub(crate) async fn call(&self, name: &str, path: &str, body: Value) -> Response {
        call(self, name, path, Some(body)).await
    }
}

/// A call by the holder of a token.
async fn call(server: &Server, name: &str, path: &str, body: Option<Value>) -> Response {
    let authorization = format!("Authorization: Bearer {}\r\n", secret(name));
    let Some(body) = body.map(|body| body.to_string()) else {
        return get_with(server.address, path, &authorization).await;
    };
    let request = format!(
        "POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n{authorization}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    raw(server.address, request.as_bytes()).await
}

/// The roles that a call is for, as the documentation says; the API's own description is not asked.
fn expected(method: &str, path: &str) -> &'static [&'static str] {
    match (method, path) {
        (_, "/healthz" | "/readyz" | "/api/v1/openapi.json") => {
            &["claims", "read", "operate", "boss"]
        }
        ("get", "/api/v1/claims") => &["claims", "read", "operate", "boss"],
        (_, path) if path.starts_with("/api/v1/claims") => &["claims", "boss"],
        (_, path) if path.contains("/erase") => &["boss"],
        ("get", _) => &["read", "operate", "boss"],
        (_, path) if path.contains("/erase") => &["boss"],
        _ => &["operate", "boss"],
    }
}

#[tokio::test]
async fn every_route_lets_its_roles_in_and_no_other() {
    let server = serve(each_role()).await;
    let document = call(&server, "boss", "/api/v1/openapi.json", None)
        .await
        .json();
    let mut calls = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            for role in ["claims", "read", "operate", "boss"] {
                let body = (method == "post").then(|| json!({}));
                let answer = call(&server, role, path, body).await;
                let is_let_in = expected(method, path).contains(&role);
                let is_forbidden = answer.status == 403 && answer.problem() == "forbidden";
                assert_eq!(
                    is_forbidden, !is_let_in,
                    "{role} {method} {path}: {answer:?}"
                );
                assert_ne!(answer.status, 401, "{role} {method} {path}");
                calls += 1;
            }
        }
    }
    assert!(calls >= 28 * 4, "{calls}");
}

#[tokio::test]
async fn a_token_for_claims_takes_an_operation_from_claim_to_replay() {
    let server = serve(each_role()).await;
    let post = |path: &'static str, body| call(&server, "claims", path, Some(body));
    let granted = post("/api/v1/claims", about("order-17", json!({}))).await;
    assert_eq!(granted.status, 201, "{granted:?}");
    let fence = granted.json()["fence"].clone();
    let of = |more: Value| {
        let mut body = about("order-17", json!({ "fence": fence }));
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    assert_eq!(
        post("/api/v1/claims/renew", of(json!({}))).await.status,
        200
    );
    let settled = post(
        "/api/v1/claims/settle",
        of(json!({ "verdict": "succeeded" })),
    )
    .await;
    assert_eq!(settled.status, 200, "{settled:?}");
    let replayed = post("/api/v1/claims", about("order-17", json!({}))).await;
    assert_eq!(replayed.json()["state"], "settled");
    let path = format!("/api/v1/claims?{}", query("order-17"));
    assert_eq!(call(&server, "claims", &path, None).await.status, 200);
    // What it settled it can neither decide about nor erase.
    let erase = of(json!({ "how": "erase" }));
    let refused = post("/api/v1/records/resolve", erase).await;
    assert_eq!(refused.problem(), "forbidden");
}

#[tokio::test]
async fn out_of_reach_the_answer_does_not_tell_whether_there_is_a_record() {
    let server = serve(each_role()).await;
    let identity =
        |tenant: &str, scope: &str| json!({ "tenant": tenant, "scope": scope, "key": "k" });
    for (tenant, scope) in [("globex", "payments@1"), ("acme", "payments2@1")] {
        let claimed = call(
            &server,
            "boss",
            "/api/v1/claims",
            Some(identity(tenant, scope)),
        )
        .await;
        assert_eq!(claimed.status, 201);
    }
    let mut answers = Vec::new();
    for (tenant, scope) in [
        ("globex", "payments@1"),
        ("globex", "payments@9"),
        ("acme", "payments2@1"),
        ("acme", "payments-eu@1"),
        ("acme", "pay@1"),
    ] {
        for path in ["", "/renew", "/settle", "/release", "/unknown"] {
            let mut body = identity(tenant, scope);
            match path {
                "" => {}
                "/settle" => body["verdict"] = "succeeded".into(),
                _ => {}
            }
            if !path.is_empty() {
                body["fence"] = 1.into();
            }
            let path = format!("/api/v1/claims{path}");
            answers.push(call(&server, "claims", &path, Some(body)).await);
        }
        let path = format!("/api/v1/claims?tenant={tenant}&scope={scope}&key=k");
        answers.push(call(&server, "claims", &path, None).await);
    }
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
    assert_snapshot!(answers[0].shown(), @r#"
    403
    {
      "detail": "the token is for another tenant or for other scopes",
      "ran": "no",
      "status": 403,
      "title": "The token does not allow this call",
      "type": "urn:semel:problem:forbidden"
    }
    "#);
    // Nothing was written for any of them either.
    let stats = call(&server, "read", "/api/v1/stats", None).await.json();
    assert_eq!(stats["running"], 2);
}

#[tokio::test]
async fn only_an_admin_erases_and_an_operator_decides() {
    let server = serve(each_role()).await;
    let fence = |name: &'static str, key: &'static str| {
        let (server, path) = (&server, "/api/v1/claims");
        async move {
            let granted = call(server, name, path, Some(about(key, json!({})))).await;
            granted.json()["fence"].clone()
        }
    };
    let claim = about("k", json!({ "fence": fence("claims", "k").await }));
    let unknown = call(
        &server,
        "claims",
        "/api/v1/claims/unknown",
        Some(claim.clone()),
    )
    .await;
    assert_eq!(unknown.status, 200, "{unknown:?}");
    let resolve = |name: &'static str, more: Value| {
        let mut body = claim.clone();
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        call(&server, name, "/api/v1/records/resolve", Some(body))
    };
    let settle = json!({ "how": "settle", "verdict": "succeeded" });
    for name in ["claims", "read"] {
        assert_eq!(resolve(name, settle.clone()).await.problem(), "forbidden");
    }
    assert_eq!(resolve("operate", settle).await.status, 200);
    let refused = resolve("operate", json!({ "how": "erase" })).await;
    assert_eq!(refused.problem(), "forbidden");
    assert!(
        refused.json()["detail"]
            .as_str()
            .unwrap()
            .contains("needs admin")
    );
    assert_eq!(
        resolve("boss", json!({ "how": "erase", "by": "ada" }))
            .await
            .status,
        200
    );
    let one = format!("/api/v1/records/one?{}", query("k"));
    let history = call(&server, "read", &one, None).await.json()["history"].to_string();
    assert!(history.contains(r#""operate""#), "{history}");
    assert!(history.contains(r#""boss/ada""#), "{history}");
}

#[tokio::test]
async fn a_name_without_a_token_does_not_pass_for_one() {
    let server = Server::start().await;
    for by in ["operate", "operate/ada"] {
        let pause = json!({ "consumer": "indexer@1", "by": by });
        let paused = server.post("/api/v1/inbox/pause", pause).await;
        assert_eq!(paused.status, 200, "{paused:?}");
        let audit = server.get("/api/v1/audit").await.json();
        assert_eq!(audit["audit"][0]["by"], format!("no-token:{by}"));
        let resume = json!({ "consumer": "indexer@1", "by": by });
        server.post("/api/v1/inbox/resume", resume).await;
    }
}

#[tokio::test]
async fn the_audit_names_the_token_whatever_its_holder_says() {
    let server = serve(each_role()).await;
    let pause = |by: Option<&str>| {
        let mut body = json!({ "consumer": "indexer@1" });
        if let Some(by) = by {
            body["by"] = by.into();
        }
        call(&server, "operate", "/api/v1/inbox/pause", Some(body))
    };
    for by in [None, Some("operate"), Some("boss")] {
        assert_eq!(pause(by).await.status, 200, "{by:?}");
        let resume = json!({ "consumer": "indexer@1" });
        call(&server, "operate", "/api/v1/inbox/resume", Some(resume)).await;
    }
    let too_long = "x".repeat(250);
    assert_eq!(pause(Some(&too_long)).await.problem(), "invalid-input");
    let audit = call(&server, "read", "/api/v1/inbox/audit", None)
        .await
        .json();
    let lines = audit["audit"].as_array().unwrap();
    let names: Vec<_> = lines
        .iter()
        .map(|line| line["by"].as_str().unwrap())
        .collect();
    let expected = [
        "operate",
        "operate/boss",
        "operate",
        "operate",
        "operate",
        "operate",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn without_tokens_the_caller_says_who_decides() {
    let server = Server::start().await;
    let pause = |body| server.post("/api/v1/inbox/pause", body);
    let refused = pause(json!({ "consumer": "indexer@1" })).await;
    assert_eq!(refused.json()["field"], "by", "{refused:?}");
    let paused = pause(json!({ "consumer": "indexer@1", "by": "ada" })).await;
    assert_eq!(paused.status, 200);
}

#[tokio::test]
async fn an_expired_token_is_refused_from_its_moment_on() {
    let start = Timestamp::from_millis(1_794_787_200_000);
    let until = Timestamp::from_millis(start.as_millis() + 60_000);
    let old = token("old", Grant::Read).until(until);
    let server = serve(vec![old, token("new", Grant::Read)]).await;
    assert_eq!(server.clock.now(), start);
    let stats = |name| call(&server, name, "/api/v1/stats", None);
    assert_eq!(stats("old").await.status, 200);
    server.clock.advance(Duration::from_millis(59_999));
    assert_eq!(stats("old").await.status, 200);
    server.clock.advance(Duration::from_millis(1));
    let refused = stats("old").await;
    assert_eq!(
        (refused.status, refused.problem().as_str()),
        (401, "unauthorized")
    );
    assert_eq!(refused.json()["detail"], "the token old has expired");
    assert_eq!(stats("new").await.status, 200);
    assert_eq!(stats("unknown").await.status, 401);
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn the_log_names_the_token_and_never_its_secret() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(lines.clone())
        .finish();
    // Of the whole process: a subscriber of one thread may miss spans that other threads met first.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let server = serve(each_role()).await;
    let claimed = call(
        &server,
        "claims",
        "/api/v1/claims",
        Some(about("logged", json!({}))),
    )
    .await;
    assert_eq!(claimed.status, 201);
    assert_eq!(
        call(&server, "claims", "/api/v1/stats", None).await.status,
        403
    );
    assert_eq!(
        call(&server, "nobody", "/api/v1/stats", None).await.status,
        401
    );
    let said = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let claimed = said
        .lines()
        .find(|line| line.contains(r#"event="claimed""#) && line.contains(r#"key="logged""#));
    assert!(claimed.unwrap().contains(r#"token="claims""#), "{said}");
    let forbidden = said.lines().find(|line| line.contains("forbidden"));
    assert!(forbidden.unwrap().contains(r#"token="claims""#), "{said}");
    assert!(!said.contains("secret-of"), "{said}");
}

#[test]
fn roles_are_written_as_the_documentation_says() {
    let names = Role::ALL.map(Role::name);
    assert_eq!(names, ["claims", "read", "operate", "admin"]);
    assert!("root".parse::<Role>().is_err());
}
