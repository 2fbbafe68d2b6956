//! Real services behind the gateway: an Express app and a Flask app, as their users write them.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use http::Method;
use semel_gateway::{Config, Route};
use semel_http::rules::Missing;
use serde_json::Value;

use crate::support::gateway::get;
use crate::support::message::Message;
use crate::support::{Peer, config, start};

/// A service that runs for one test; it ends with the value.
struct App {
    child: Child,
    addr: SocketAddr,
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `cargo xtask` has installed what the apps are written with.
fn installed() -> PathBuf {
    let dir = std::env::var_os("SEMEL_TEST_APPS").unwrap_or_else(|| {
        panic!(
            "SEMEL_TEST_APPS is not set: run `cargo xtask test`, or `cargo xtask services up apps` and the export \
             line that it prints"
        )
    });
    PathBuf::from(dir)
}

impl App {
    fn express() -> Self {
        let mut node = Command::new("node");
        node.env("NODE_PATH", installed().join("node_modules"));
        Self::start(node, "express.js")
    }

    fn flask() -> Self {
        let mut python = Command::new(installed().join("venv/bin/python"));
        python.args(["-I", "-B"]);
        Self::start(python, "flask_app.py")
    }

    fn start(mut command: Command, script: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/apps")
            .join(script);
        command
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let started = command.spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{script} does not start: {error}"));
        let mut port = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut port).unwrap();
        let port = port.trim().parse().expect("the port on the first line");
        let addr = SocketAddr::new([127, 0, 0, 1].into(), port);
        Self { child, addr }
    }

    /// A gateway's configuration that demands a key for charges.
    fn guarded(&self) -> Config {
        let mut config = config(format!("http://{}", self.addr));
        let mut route = Route::new(Method::POST, "/payments").unwrap();
        route.rules.missing = Missing::Require;
        config.routes = vec![route];
        config
    }

    async fn call(&self, request: String) -> Message {
        let mut peer = Peer::connect(self.addr).await;
        peer.send(request).await;
        peer.response().await.expect("a response")
    }

    async fn charges(&self) -> u64 {
        let ledger: Value = serde_json::from_slice(&self.call(get("/ledger")).await.body).unwrap();
        ledger["charges"].as_u64().unwrap()
    }
}

const SPELLINGS: [(&str, &str); 16] = [
    ("POST /payments", ""),
    ("POST /payments/", ""),
    ("POST /payments//", ""),
    ("POST //payments", ""),
    ("POST /Payments", ""),
    ("POST /PAYMENTS/", ""),
    ("POST /%70ayments", ""),
    ("POST /payments;v=1", ""),
    ("POST /payments?x=1", ""),
    ("POST /x/../payments", ""),
    ("POST /x/..;/payments", ""),
    ("POST /payments%2F", ""),
    ("POST /%2Fpayments", ""),
    ("post /payments", ""),
    ("PUT /payments", "X-HTTP-Method-Override: POST\r\n"),
    ("PUT /payments", "X_HTTP_Method_Override: POST\r\n"),
];

fn request((line, headers): (&str, &str), key: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: a\r\n{headers}{key}Content-Length: 0\r\n\r\n")
}

/// Sends a charge in every spelling, without a key and with the same one.
async fn charged_through_all_spellings(app: &App) -> u64 {
    let gateway = start(app.guarded());
    let before = app.charges().await;
    for spelling in SPELLINGS {
        let response = gateway.call(request(spelling, "")).await;
        // What the gateway lets pass, because it is another operation, is no charge to the service.
        let is_refused = matches!(response.status(), 400 | 404 | 405);
        assert!(is_refused, "{spelling:?}: {response:?}");
    }
    assert_eq!(app.charges().await, before, "a charge without a key");
    for spelling in SPELLINGS {
        gateway
            .call(request(spelling, "Idempotency-Key: k\r\n"))
            .await;
    }
    app.charges().await - before
}

#[tokio::test(flavor = "multi_thread")]
async fn express_is_charged_once_through_all_spellings() {
    let app = App::express();
    // It is as lenient as is said of it.
    for path in ["/payments/", "/Payments", "/PAYMENTS/"] {
        let spelled = format!("POST {path}");
        assert_eq!(
            app.call(request((&spelled, ""), "")).await.status(),
            201,
            "{path}"
        );
    }
    assert_eq!(charged_through_all_spellings(&app).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn flask_is_charged_once_through_all_spellings() {
    let app = App::flask();
    let overridden = ("PUT /payments", "X_HTTP_Method_Override: POST\r\n");
    for spelling in [("POST /payments/", ""), ("POST /%70ayments", "")] {
        let response = app.call(request(spelling, "")).await;
        assert_eq!(response.status(), 201, "{spelling:?}");
    }
    // Werkzeug drops such headers since 3.1; other servers for WSGI do not, and the gateway does not rely on it.
    app.call(request(overridden, "")).await;
    assert_eq!(charged_through_all_spellings(&app).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_wsgi_service_sees_of_semel_is_semels() {
    let app = App::flask();
    let mut config = app.guarded();
    config.routes = vec![Route::new(Method::POST, "/environ").unwrap()];
    let gateway = start(config);
    let forged = "Semel-Fence: 9\r\nSemel_Fence: 9\r\nSEMEL_ATTEMPT: 9\r\nX_Forwarded_For: 6.6.6.6\r\n\
                  Idempotency_Key: other\r\n";
    let guarded = request(("POST /environ", forged), "Idempotency-Key: k\r\n");
    let passed = format!("GET /environ HTTP/1.1\r\nHost: a\r\n{forged}\r\n");
    for (request, attempt, key) in [(guarded, Some("1"), Some("k")), (passed, None, None)] {
        let seen: Value = serde_json::from_slice(&gateway.call(request).await.body).unwrap();
        assert_eq!(seen["HTTP_SEMEL_ATTEMPT"].as_str(), attempt);
        assert_ne!(seen["HTTP_SEMEL_FENCE"].as_str(), Some("9"));
        assert_eq!(seen["HTTP_IDEMPOTENCY_KEY"].as_str(), key);
        assert_eq!(seen["HTTP_X_FORWARDED_FOR"].as_str(), Some("127.0.0.1"));
    }
}
