//! Alerts: judged by the process, shown by the API and the metrics, sent to a webhook.

use std::time::Duration;

use semel_admin::alerts::{Settings, Webhook};
use semel_core::Timestamp;
use semel_inbox::Observer;
use semel_inbox::source::StandardKey;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::metrics::assert_has;
use crate::server::Server;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Judged so often that a test does not wait for it.
fn often() -> Settings {
    Settings {
        every: Duration::from_millis(10),
        ..Settings::default()
    }
}

/// The alerts that are active, by name and state, once `is_it` says so.
async fn until(server: &Server, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let found = server.get("/api/v1/alerts").await;
        assert_eq!(found.status, 200, "{found:?}");
        if is_it(&found.json()) {
            return found.json();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn fires(found: &Value, name: &str) -> bool {
    let mut active = found["active"].as_array().unwrap().iter();
    active.any(|alert| alert["name"] == name && alert["state"] == "firing")
}

#[tokio::test]
async fn what_fires_shows_in_the_api_and_in_the_metrics_until_it_ends() {
    let server = Server::alerting(often()).await;
    let quiet = until(&server, |found| !found["judged_at"].is_null()).await;
    assert_eq!(quiet["active"], json!([]));
    let rules = quiet["rules"].as_array().unwrap();
    let large = rules
        .iter()
        .find(|rule| rule["name"] == "store-large")
        .unwrap();
    assert_eq!(large["threshold"], 1e9);
    assert_eq!(large["unit"], "bytes");
    assert!(
        large["runbook"]
            .as_str()
            .unwrap()
            .ends_with("/docs/alerts/store-large.md")
    );

    server.metrics.reloaded(Err(()));
    let consumer = "mail@1".parse().unwrap();
    server.metrics.alert(&consumer, "parked", true);
    let found = until(&server, |found| {
        fires(found, "reload-failed") && fires(found, "parked")
    })
    .await;
    let parked = found["active"].as_array().unwrap().last().unwrap();
    assert_eq!(
        parked["subject"],
        json!({ "kind": "consumer", "name": "mail@1" })
    );
    assert_eq!(parked["threshold"], Value::Null);
    assert_has(
        &server.metrics.text(),
        &[
            "semel_alert{alert=\"reload-failed\"} 1",
            "semel_alert{consumer=\"mail@1\",alert=\"parked\"} 1",
            "semel_reload_ok 0",
            "semel_reloads_total{result=\"failed\"} 1",
        ],
    );

    server.metrics.reloaded(Ok(Timestamp::from_millis(7_000)));
    server.metrics.alert(&consumer, "parked", false);
    until(&server, |found| found["active"] == json!([])).await;
    assert_has(
        &server.metrics.text(),
        &[
            "semel_alert{alert=\"reload-failed\"} 0",
            "semel_alert{consumer=\"mail@1\",alert=\"parked\"} 0",
            "semel_configuration_loaded_timestamp_seconds 7.0",
        ],
    );
    server.stop().await;
}

#[tokio::test]
async fn a_threshold_that_is_changed_counts_from_the_next_time_on() {
    let server = Server::alerting(often()).await;
    server.metrics.reloaded(Err(()));
    until(&server, |found| fires(found, "reload-failed")).await;
    let mut settings = often();
    settings.thresholds.insert("reload-failed", None);
    server.alerts.set(settings);
    let found = until(&server, |found| !fires(found, "reload-failed")).await;
    let rules = found["rules"].as_array().unwrap();
    let rule = rules
        .iter()
        .find(|rule| rule["name"] == "reload-failed")
        .unwrap();
    assert_eq!(
        (&rule["on"], &rule["threshold"]),
        (&json!(false), &Value::Null)
    );
}

/// A request that a receiver got.
#[derive(Debug)]
struct Got {
    id: String,
    time: i64,
    signature: String,
    authorization: String,
    body: String,
}

/// A receiver that answers with these statuses and then with 204, and where it is.
async fn receiver(statuses: &'static [u16]) -> (String, mpsc::UnboundedReceiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/alerts", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut statuses = statuses.iter();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let status = statuses.next().copied().unwrap_or(204);
            if sender.send(answer(stream, status).await).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

async fn answer(mut stream: TcpStream, status: u16) -> Got {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut piece = [0; 4_096];
        let read = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8(bytes.clone()).unwrap();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len().to_string() == field(head, "content-length")
        {
            break (head.to_owned(), body.to_owned());
        }
    };
    let answer = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    Got {
        id: field(&head, "webhook-id"),
        time: field(&head, "webhook-timestamp").parse().unwrap(),
        signature: field(&head, "webhook-signature"),
        authorization: field(&head, "authorization"),
        body,
    }
}

fn field(head: &str, name: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
    found.map_or_else(String::new, |(_, value)| value.to_owned())
}

fn posting_to(url: &str) -> Settings {
    let mut webhook = Webhook::new(url);
    webhook.key = Some(StandardKey::parse(SECRET).unwrap());
    webhook.headers = vec![("Authorization".to_owned(), "Bearer t".to_owned())];
    webhook.pause = Duration::from_millis(1);
    webhook.pause_max = Duration::from_millis(2);
    Settings {
        webhook: Some(webhook),
        ..often()
    }
}

#[tokio::test]
async fn a_receiver_that_fails_gets_a_notice_later_and_each_change_once() {
    let (url, mut got) = receiver(&[503, 429]).await;
    let server = Server::alerting(posting_to(&url)).await;
    server.metrics.reloaded(Err(()));
    let attempts = [
        got.recv().await.unwrap(),
        got.recv().await.unwrap(),
        got.recv().await.unwrap(),
    ];
    let key = StandardKey::parse(SECRET).unwrap();
    for attempt in &attempts {
        assert_eq!(attempt.id, attempts[0].id);
        assert_eq!(attempt.body, attempts[0].body);
        assert_eq!(attempt.authorization, "Bearer t");
        let signed = key.sign(&attempt.id, attempt.time, attempt.body.as_bytes());
        assert_eq!(attempt.signature, signed);
    }
    let notice: Value = serde_json::from_str(&attempts[2].body).unwrap();
    assert_eq!(notice["type"], "alert.firing");
    assert_eq!(notice["data"]["name"], "reload-failed");
    assert_eq!(notice["data"]["state"], "firing");

    // It still fires, which is nothing new; that it ends is.
    server.metrics.reloaded(Ok(Timestamp::from_millis(0)));
    let ended = got.recv().await.unwrap();
    let notice: Value = serde_json::from_str(&ended.body).unwrap();
    assert_eq!(notice["type"], "alert.resolved");
    assert_eq!(notice["data"]["state"], "resolved");
    assert_ne!(ended.id, attempts[0].id);
    until_counted(&server, "semel_alert_notices_total{result=\"delivered\"} 2").await;
    assert_has(
        &server.metrics.text(),
        &["semel_alert_notices_total{result=\"retried\"} 2"],
    );
    assert!(got.try_recv().is_err());
}

#[tokio::test]
async fn a_notice_that_is_refused_is_not_sent_again() {
    let (url, mut got) = receiver(&[400]).await;
    let server = Server::alerting(posting_to(&url)).await;
    server.metrics.reloaded(Err(()));
    let refused = got.recv().await.unwrap();
    until_counted(&server, "semel_alert_notices_total{result=\"refused\"} 1").await;
    server.metrics.reloaded(Ok(Timestamp::from_millis(0)));
    assert_ne!(got.recv().await.unwrap().id, refused.id);
}

#[tokio::test]
async fn a_notice_that_needs_other_credentials_or_another_address_is_sent_again() {
    let (url, mut got) = receiver(&[401, 403, 404, 409]).await;
    let server = Server::alerting(posting_to(&url)).await;
    server.metrics.reloaded(Err(()));
    let first = got.recv().await.unwrap();
    for _ in 0..4 {
        assert_eq!(got.recv().await.unwrap().id, first.id);
    }
    until_counted(&server, "semel_alert_notices_total{result=\"delivered\"} 1").await;
    let text = server.metrics.text();
    assert_has(&text, &["semel_alert_notices_total{result=\"retried\"} 4"]);
}

async fn until_counted(server: &Server, line: &str) {
    while !server.metrics.text().lines().any(|found| found == line) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A page as a browser asks for it.
async fn page(server: &Server, path: &str) -> String {
    let host = server.address;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
    );
    let response = crate::http::raw(host, request.as_bytes()).await;
    assert_eq!(response.status, 200, "{response:?}");
    response.body
}

#[tokio::test]
async fn the_page_shows_what_fires_first_and_all_alerts_with_their_thresholds() {
    let server = Server::alerting(often()).await;
    until(&server, |found| !found["judged_at"].is_null()).await;
    let quiet = page(&server, "/alerts").await;
    assert!(quiet.contains("No alert fires."), "{quiet}");
    assert!(
        quiet.contains("above 1.0 GB for 5m") && quiet.contains("below 14d"),
        "{quiet}"
    );
    assert!(!page(&server, "/").await.contains("reload-failed"));

    server.metrics.reloaded(Err(()));
    until(&server, |found| fires(found, "reload-failed")).await;
    for path in ["/", "/alerts"] {
        let page = page(&server, path).await;
        assert!(
            page.contains("firing") && page.contains("reload-failed"),
            "{page}"
        );
    }
    let page = page(&server, "/alerts").await;
    assert!(page.contains("/docs/alerts/reload-failed.md"), "{page}");
}

#[tokio::test]
async fn alerts_of_one_rule_stand_together_and_name_what_they_are_about() {
    let server = Server::alerting(often()).await;
    for consumer in ["mail@1", "sms@1"] {
        let consumer = consumer.parse().unwrap();
        server.metrics.alert(&consumer, "parked", true);
    }
    until(&server, |found| {
        found["active"].as_array().unwrap().len() == 2
    })
    .await;
    let page = page(&server, "/alerts").await;
    // Once among those that fire, and once in the table of all.
    let summary = "Messages are parked or have failed for good and wait for a person";
    assert_eq!(page.matches(summary).count(), 2, "{page}");
    for consumer in ["mail", "sms"] {
        let link = format!("href=\"/inbox?consumer={consumer}%401\">{consumer}@1</a>");
        assert!(page.contains(&link), "{link}: {page}");
    }
}

#[tokio::test]
async fn the_page_of_observe_mode_shows_findings_with_their_keys() {
    let server = Server::start().await;
    let page = page(&server, "/observe").await;
    for part in ["payments@1", "acme", "<code>k</code>"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}
