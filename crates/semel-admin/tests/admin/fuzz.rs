//! The API's description is what the API does: a fuzzer that calls it by the description finds nothing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use semel_admin::{Config, Secret, Tokens};
use serde_json::json;

use crate::http::raw;
use crate::server::{Server, about};

const TOKEN: &str = "fuzz-7071-token";
/// The number of calls is bounded; this is for a fuzzer that stands still.
const PATIENCE: Duration = Duration::from_secs(600);

/// The Python that has the fuzzer.
fn fuzzer() -> Command {
    let python = std::env::var_os("SEMEL_TEST_SCHEMATHESIS").expect(
        "SEMEL_TEST_SCHEMATHESIS names no Python with schemathesis: run the tests with `cargo xtask test`, or \
         `eval \"$(cargo xtask services up schemathesis)\"` before them",
    );
    let mut command = Command::new(python);
    command.args(["-I", "-m", "schemathesis.cli"]);
    command
}

/// A record in each state, so that calls meet more than what is absent.
async fn fill(server: &Server) {
    for (path, body) in [
        ("", json!({ "lease": "24h" })),
        (
            "/settle",
            json!({ "fence": 1, "verdict": "succeeded", "status": 201, "body": "done" }),
        ),
    ] {
        let body = about("order-17", body).to_string();
        let request = format!(
            "POST /api/v1/claims{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert!(raw(server.address, request.as_bytes()).await.status < 300);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fuzzer_that_reads_the_description_finds_nothing() {
    let config = Config {
        tokens: Tokens::admin(Secret::new(TOKEN).unwrap()),
        ..Config::default()
    };
    let server = Server::start_with(config, |store| store).await;
    fill(&server).await;
    let dir = tempfile::tempdir().unwrap();
    let (mut command, work) = (fuzzer(), dir.path().to_owned());
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin/schemathesis.toml");
    let location = format!("http://{}/api/v1/openapi.json", server.address);
    command.arg("--no-color").arg("--config-file").arg(settings);
    command.args(["run", &location, "--header"]);
    command.arg(format!("Authorization: Bearer {TOKEN}"));
    command.env("SEMEL_FUZZ_TOKEN", TOKEN).current_dir(work);
    let mut command = tokio::process::Command::from(command);
    let output = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output()).await;
    let output = output.expect("the fuzzer ends by itself").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    server.stop().await;
}
