//! Files of JSON lines: nothing is lost, nothing is repeated, and a bad line is found again.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use semel_core::Inbox;
use semel_core::inbox::State;
use semel_inbox::source::Locator;
use semel_inbox::{Done, FileSource, HttpHandler, Rule, Running, handler_fn};

use crate::support::server::{Server, status};
use crate::support::{Rig, consumer, eventually, identity};

fn start(rig: &Rig, source: Arc<FileSource>, rule: Rule) -> Running {
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let engine = engine.source("orders".parse().unwrap(), source, rule);
    engine.build().unwrap().start()
}

fn line(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"payload\":{{}}}}\n")
}

fn append(path: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

async fn completed(rig: &Rig, id: &str) {
    rig.until(&identity("orders", id), State::Completed).await;
}

fn arrivals(rig: &Rig) -> usize {
    rig.seen.received.lock().unwrap().len()
}

#[tokio::test]
async fn lines_become_messages_and_bad_ones_are_parked_as_unreadable() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    let long = format!("{{\"id\":\"{}\"}}\n", "x".repeat(300));
    let whole = r#"{"id":"o-2","type":"order.made","key":"k","sequence":4,"headers":{"X-A":"1"},"payload":{"n": 1.10}}"#;
    let text = format!(
        "{}not json\n\n{long}{{\"payload\":1}}\n{whole}\n{}",
        line("o-1"),
        line("o-3").trim_end()
    );
    std::fs::write(&path, text).unwrap();
    let source = Arc::new(FileSource::new(&path).line_bytes_max(200));
    let mut running = start(&rig, source.clone(), Rule::default());
    running.sources_ended().await;
    for id in ["o-1", "o-2", "o-3"] {
        completed(&rig, id).await;
    }
    running.shutdown().await;
    let found = rig.unreadable("orders").await;
    let payload =
        |detail: &semel_core::inbox::Detail| detail.message.as_ref().unwrap().payload().clone();
    let found: Vec<_> = found.iter().rev().map(payload).collect();
    assert_eq!(found, ["not json", &long[..200], "1"]);
    let detail = rig.store.message(identity("orders", "o-2")).await;
    let message = detail.unwrap().unwrap().message.unwrap();
    assert_eq!(message.payload(), "{\"n\": 1.10}");
    assert_eq!(message.kind(), Some("order.made"));
    assert_eq!(
        (message.sequence(), message.origin().offset),
        (Some(4), Some(6))
    );
    assert_eq!(message.lane().unwrap().as_str(), "k");
}

#[tokio::test]
async fn after_a_restart_reading_goes_on_where_it_was_left() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    append(&path, &line("o-1"));
    let mut running = start(&rig, Arc::new(FileSource::new(&path)), Rule::default());
    running.sources_ended().await;
    completed(&rig, "o-1").await;
    running.shutdown().await;
    append(&path, &line("o-2"));
    let mut running = start(&rig, Arc::new(FileSource::new(&path)), Rule::default());
    running.sources_ended().await;
    completed(&rig, "o-2").await;
    running.shutdown().await;
    // Nothing was read twice, not even to find that it is known.
    assert_eq!(arrivals(&rig), 2);
    // Another file under the same name is read from its beginning.
    std::fs::remove_file(&path).unwrap();
    append(&path, &(line("p-1") + &line("p-2") + &line("p-3")));
    let mut running = start(&rig, Arc::new(FileSource::new(&path)), Rule::default());
    running.sources_ended().await;
    for id in ["p-1", "p-2", "p-3"] {
        completed(&rig, id).await;
    }
    running.shutdown().await;
}

#[tokio::test]
async fn a_file_that_is_followed_may_grow_be_cut_off_and_be_replaced() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    let running = start(
        &rig,
        Arc::new(FileSource::new(&path).follow()),
        Rule::default(),
    );
    append(&path, &line("o-1"));
    completed(&rig, "o-1").await;
    // A line without an end is waited for.
    let (begin, end) = ("{\"id\":\"o-2\",", "\"payload\":{}}\n");
    append(&path, begin);
    append(&path, &format!("{end}{}", line("o-3")));
    completed(&rig, "o-2").await;
    completed(&rig, "o-3").await;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    append(&path, &line("c-1"));
    completed(&rig, "c-1").await;
    append(&path, &line("c-2"));
    std::fs::rename(&path, rig.dir.path().join("orders.jsonl.1")).unwrap();
    append(&path, &line("r-1"));
    completed(&rig, "c-2").await;
    completed(&rig, "r-1").await;
    running.shutdown().await;
    append(&path, &line("r-2"));
    let running = start(
        &rig,
        Arc::new(FileSource::new(&path).follow()),
        Rule::default(),
    );
    completed(&rig, "r-2").await;
    running.shutdown().await;
    assert_eq!(arrivals(&rig), 7);
}

#[tokio::test]
async fn whole_lines_are_payloads_in_which_the_rule_finds_the_id() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    append(
        &path,
        "{\"order\":{\"no\":17},\"total\":5}\n{\"total\":5}\n",
    );
    let rule = Rule {
        id: vec![Locator::body("$.order.no").unwrap()],
        ..Rule::default()
    };
    let source = Arc::new(FileSource::new(&path).whole_lines());
    let mut running = start(&rig, source.clone(), rule);
    running.sources_ended().await;
    completed(&rig, "17").await;
    running.shutdown().await;
    assert_eq!(rig.unreadable("orders").await.len(), 1);
}

#[tokio::test]
async fn many_lines_are_stored_in_few_batches_and_all_of_them() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    let all: String = (0..3_000).map(|n| line(&format!("o-{n}"))).collect();
    append(&path, &all);
    let mut running = start(&rig, Arc::new(FileSource::new(&path)), Rule::default());
    running.sources_ended().await;
    assert_eq!(arrivals(&rig), 3_000);
    let done = async || (rig.seen.finished.lock().unwrap().len() == 3_000).then_some(());
    eventually("3,000 attempts", done).await;
    running.shutdown().await;
}

#[tokio::test]
async fn headers_that_http_cannot_carry_are_named_to_the_handler() {
    let rig = Rig::new();
    let server = Server::scripted(vec![status(200)]).await;
    let path = rig.dir.path().join("orders.jsonl");
    append(
        &path,
        "{\"id\":\"o-1\",\"headers\":{\"order no\":\"7\",\"x-line\":\"a\\nb\",\"x-fit\":\"1\"},\"payload\":{}}\n",
    );
    let handler = HttpHandler::new(&server.url("/")).unwrap();
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let source = Arc::new(FileSource::new(&path));
    let engine = engine.source("orders".parse().unwrap(), source, Rule::default());
    let running = engine.build().unwrap().start();
    completed(&rig, "o-1").await;
    running.shutdown().await;
    let request = &server.requests()[0];
    assert_eq!(
        request.header("semel-dropped-headers"),
        Some("order%20no, x-line")
    );
    assert_eq!(request.header("x-fit"), Some("1"));
}
