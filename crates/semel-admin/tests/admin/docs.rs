//! docs/claims-api.md is true: its calls get the answers that it shows.

use serde_json::Value;

use crate::http::{self, Response};
use crate::server::Server;

const PAGE: &str = include_str!("../../../../docs/claims-api.md");

/// A fenced block: its language and its text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("\n```").skip(1).step_by(2);
    parts
        .map(|block| block.split_once('\n').unwrap_or((block, "")))
        .collect()
}

/// The path of a call and, of a POST, its body.
fn call(command: &str) -> (String, Option<&str>) {
    let (_, after) = command.split_once("$API").unwrap();
    let path = after.split([' ', '"', '\n']).next().unwrap();
    let body = command
        .split_once("-d '")
        .map(|(_, body)| body.rsplit_once('\'').unwrap().0);
    (format!("/api/v1{path}"), body)
}

/// Does what a block of commands says; the last answer is the one that is shown.
async fn run(server: &Server, commands: &str) -> Option<Response> {
    let mut last = None;
    for command in commands
        .split("\ncurl")
        .flat_map(|part| part.split("\nsleep"))
    {
        let seconds = command
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok());
        if let Some(seconds) = seconds {
            server.wait(seconds);
            continue;
        }
        let (path, body) = call(command);
        last = Some(match body {
            Some(body) => http::post_text(server.address, &path, body).await,
            None => http::get(server.address, &path).await,
        });
    }
    last
}

fn assert_shown(answer: &Response, shown: &str, commands: &str) {
    let (head, body) = shown.split_once("\n\n").unwrap();
    let mut head = head.lines();
    assert_eq!(answer.head.lines().next(), head.next(), "{commands}");
    for line in head {
        assert!(answer.head.contains(line), "{line}: {commands}");
    }
    let body: Value = serde_json::from_str(body).unwrap();
    let found = serde_json::to_string_pretty(&answer.json()).unwrap();
    assert_eq!(answer.json(), body, "{commands}\n{found}");
}

#[tokio::test]
async fn the_calls_of_the_documentation_get_the_answers_that_it_shows() {
    let server = Server::start().await;
    let (mut last, mut shown) = (None, 0);
    for (language, text) in blocks(PAGE).into_iter().skip(1) {
        match language {
            "sh" => last = run(&server, text).await.map(|answer| (answer, text)),
            "text" => {
                let (answer, commands) = last.take().unwrap();
                assert_shown(&answer, text, commands);
                shown += 1;
            }
            // Whole programs, which the tests of the binary run.
            "python" | "js" | "bash" => {}
            other => panic!("a block of {other:?} is not tried"),
        }
    }
    assert!(shown >= 14, "only {shown} answers were found");
}
