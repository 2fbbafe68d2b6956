//! The API's description is what the API does: a fuzzer that calls it by the description finds nothing.

mod known;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use semel_admin::{Config, Secret, Tokens};
use serde_json::Value;

use crate::http::get_with;
use crate::reconciling::Provider;
use crate::server::Server;
use known::Known;

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
    // Without `-B` it writes the hooks, compiled, beside them.
    command.args(["-I", "-B", "-m", "schemathesis.cli"]);
    command
}

/// The calls that no call answered well, and those that changed nothing though they are there for that, by what the fuzzer met.
fn unmet(description: &Value, met: &str) -> Vec<String> {
    let (mut well, mut changed) = (HashSet::new(), HashMap::new());
    for line in met.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let call = line["call"].as_str().unwrap().to_owned();
        if (200..300).contains(&line["status"].as_u64().unwrap()) {
            well.insert(call.clone());
        }
        if let Some(count) = line["changed"].as_u64() {
            *changed.entry(call).or_default() += count;
        }
    }
    let paths = description["paths"].as_object().unwrap().iter();
    let calls = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    // The description itself is what the fuzzer begins with, and it calls it no more.
    let calls = calls.filter(|call| call != "GET /api/v1/openapi.json");
    let missed = calls.filter(|call| !well.contains(call));
    let idle = changed
        .into_iter()
        .filter(|(_, count): &(_, u64)| *count == 0);
    missed.chain(idle.map(|(call, _)| call)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fuzzer_that_reads_the_description_finds_nothing() {
    let config = Config {
        tokens: Tokens::admin(Secret::new(TOKEN).unwrap()),
        ..Config::default()
    };
    let server = Server::start_with(config, |store| store).await;
    let _provider = Provider::of(&server);
    let dir = tempfile::tempdir().unwrap();
    let known = Known::fill(&server).await.json();
    std::fs::write(dir.path().join("known.json"), known).unwrap();
    let (mut command, work) = (fuzzer(), dir.path().to_owned());
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin");
    let settings = tests.join("schemathesis.toml");
    let location = format!("http://{}/api/v1/openapi.json", server.address);
    command.arg("--no-color").arg("--config-file").arg(settings);
    command.args(["run", &location, "--header"]);
    command.arg(format!("Authorization: Bearer {TOKEN}"));
    command.env("SEMEL_FUZZ_TOKEN", TOKEN).current_dir(work);
    command.env("SCHEMATHESIS_HOOKS", tests.join("schemathesis_hooks.py"));
    let mut command = tokio::process::Command::from(command);
    let output = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output()).await;
    let output = output.expect("the fuzzer ends by itself").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    let met = std::fs::read_to_string(dir.path().join("met.jsonl")).unwrap();
    let headers = format!("Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n");
    let description = get_with(server.address, "/api/v1/openapi.json", &headers);
    let unmet = unmet(&description.await.json(), &met);
    assert!(unmet.is_empty(), "{unmet:#?}");
    server.stop().await;
}
