//! A real server of tools and a real client, both with the official SDK of the Model Context Protocol.

use std::path::Path;
use std::process::Stdio;

use http::Method;
use semel_gateway::Route;
use semel_http::mcp::{Mcp, Tools};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{PATIENCE, config, start};

fn python(script: &str) -> Command {
    let program = std::env::var_os("SEMEL_TEST_MCP").unwrap_or_else(|| {
        panic!(
            "SEMEL_TEST_MCP is not set: run `cargo xtask test`, or `cargo xtask services up mcp` and the export \
             line that it prints"
        )
    });
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps");
    let mut command = Command::new(program);
    command.args(["-I", "-B"]).arg(dir.join(script));
    command.stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// The server, and the port that it says first.
async fn server() -> (Child, u16) {
    let mut child = python("mcp_server.py").spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = said.next_line().await.unwrap().expect("the port");
    (child, port.parse().expect("the port on the first line"))
}

#[tokio::test]
async fn an_agent_that_calls_again_pays_once() {
    let (_server, port) = server().await;
    let mut config = config(format!("http://127.0.0.1:{port}"));
    let mut route = Route::new(Method::POST, "/mcp").unwrap();
    let mcp = Mcp {
        tools: Tools::Except(vec!["ledger".to_owned()]),
        ..Mcp::default()
    };
    mcp.apply(&mut route.rules);
    config.routes = vec![route];
    let gateway = start(config);
    let url = format!("http://{}/mcp", gateway.addr);
    let client = python("mcp_client.py").arg(url).output();
    let client = tokio::time::timeout(PATIENCE, client)
        .await
        .unwrap()
        .unwrap();
    let errors = String::from_utf8_lossy(&client.stderr);
    let seen: Value =
        serde_json::from_slice(&client.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    assert_eq!(seen["tools"], json!(["ledger", "pay", "refuse"]));
    assert_eq!(seen["first"], "payment 1 of 5");
    assert_eq!(seen["retry"], seen["first"]);
    let reused = seen["reused"].as_str().unwrap();
    assert!(reused.contains("another request"), "{reused}");
    assert_eq!(seen["other"], "payment 2 of 6");
    assert_eq!(seen["failed"][1], seen["failed"][0]);
    assert_eq!(seen["still"], "3");
    assert_eq!(seen["later"], seen["first"]);
    assert_eq!(seen["ledger"], "3");
    // Only the call that ran had progress, and the client saw it.
    assert_eq!(seen["progress"], json!([1.0, 2.0]));
}
