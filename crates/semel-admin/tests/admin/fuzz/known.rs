//! What the fuzzer finds: records and messages in every state, and some for each call that changes them.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition, Intent, Plan};
use semel_core::{Key, Outcome};
use serde_json::{Map, Value, json};

use super::TOKEN;
use crate::http::{Response, raw};
use crate::inbox::message;
use crate::server::{Server, about};

/// How many records, or messages, each call that changes them has.
const EACH: usize = 12;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is known to the fuzzer: by call, the fields that name something there is; null leaves a field out.
#[derive(Default)]
pub(super) struct Known(Map<String, Value>);

impl Known {
    /// Fills a server's store.
    pub(super) async fn fill(server: &Server) -> Self {
        let mut known = Self::default();
        known.past_records(server).await;
        known.records(server).await;
        known.failed_messages(server).await;
        known.other_messages(server).await;
        known
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(&self.0).unwrap()
    }

    fn add(&mut self, call: &str, fields: Value) {
        let known = self.0.entry(call).or_insert_with(|| json!([]));
        known.as_array_mut().unwrap().push(fields);
    }

    /// A record to look at.
    fn record(&mut self, key: &str) {
        self.add("GET /api/v1/records/one", about(key, json!({})));
        // What runs does not end by itself.
        self.add("GET /api/v1/claims", about(key, json!({ "wait": "1ms" })));
    }

    /// The settled record of the examples, an archived one, and an unknown one with a late outcome. Time passes for them, and stands still after that.
    async fn past_records(&mut self, server: &Server) {
        let example = granted(server, "order-17", json!({})).await;
        settle(server, "order-17", example, json!({})).await;
        let brief = json!({ "lease": "1s" });
        let archived = granted(server, "archived", json!({})).await;
        let late = granted(server, "late", brief).await;
        let kept = json!({ "retention": "1s", "archive": true });
        settle(server, "archived", archived, kept).await;
        server.wait(2);
        let settled = settle(server, "late", late, json!({})).await;
        assert_eq!(settled.problem(), "late-outcome");
        assert_eq!(server.store.sweep(100).await.unwrap().archived, 1);
        self.record("archived");
        self.record("late");
        self.add(
            "POST /api/v1/records/resolve",
            about("late", json!({ "fence": late, "how": "release" })),
        );
    }

    /// Records in every state, and of each state some for each call that is about it.
    async fn records(&mut self, server: &Server) {
        for (state, calls) in [
            (
                "running",
                &[
                    "claims/renew",
                    "claims/settle",
                    "claims/release",
                    "claims/unknown",
                ][..],
            ),
            (
                "unknown",
                &[
                    "records/resolve",
                    "records/resolve-many",
                    "records/reconcile",
                ][..],
            ),
            ("settled", &["records/erase", "claims"][..]),
        ] {
            for call in calls {
                for number in 0..EACH {
                    let key = match *call {
                        // The provider answers by the key.
                        "records/reconcile" => format!("yes-{number}"),
                        call => format!("{}-{number}", call.replace('/', "-")),
                    };
                    let fence = granted(server, &key, json!({ "lease": "24h" })).await;
                    let mut fields = json!({ "fence": fence });
                    match state {
                        "unknown" => {
                            let marked = post(server, "claims/unknown", &key, fields.clone());
                            assert_eq!(marked.await.status, 200);
                        }
                        "settled" => {
                            let settled = settle(server, &key, fence, json!({})).await;
                            assert_eq!(settled.status, 200);
                        }
                        _ => {}
                    }
                    match *call {
                        "records/resolve" => fields["how"] = json!("release"),
                        "claims" => fields = json!({}),
                        _ => {}
                    }
                    let fields = match *call {
                        "records/resolve-many" => released(&key),
                        _ => about(&key, fields),
                    };
                    self.add(&format!("POST /api/v1/{call}"), fields);
                    self.record(&key);
                }
            }
        }
        let erased = granted(server, "erased", json!({})).await;
        settle(server, "erased", erased, json!({})).await;
        let erase = json!({ "fence": erased, "reason": "asked to" });
        let erased = post(server, "records/erase", "erased", erase).await;
        assert_eq!(erased.status, 200, "{erased:?}");
        self.record("erased");
    }

    /// A message of the mailer: to look at, and for a call.
    fn message(&mut self, verb: &str, id: &str) {
        let shown = json!({ "consumer": "mailer@1", "id": id, "tenant": "public" });
        self.add("GET /api/v1/inbox/one", shown.clone());
        let fields = match verb {
            "edit" => shown,
            "replay" => {
                json!({ "consumer": "mailer@1", "ids": [id], "force": true, "reason": "INC-7" })
            }
            _ => json!({ "consumer": "mailer@1", "ids": [id], "reason": "INC-7" }),
        };
        self.add(&format!("POST /api/v1/inbox/{verb}"), fields);
    }

    /// Messages whose first attempt has ended, each in the way that its call is for.
    async fn failed_messages(&mut self, server: &Server) {
        for verb in ["retry", "park", "skip", "edit", "erase", "replay"] {
            for number in 0..EACH {
                let id = format!("{verb}-{number}");
                let error = ErrorText::new("the mail server said no").with_answer(&"no".into());
                let end = match verb {
                    "retry" => Disposition::Terminal { error },
                    "park" => Disposition::Retry {
                        after: DAY,
                        cause: Cause::Retryable,
                        error,
                    },
                    "replay" => Disposition::Completed {
                        outcome: Outcome::succeeded("sent"),
                        intents: vec![Intent {
                            plan: Arc::new(Plan::new("intent:pay@1".parse().unwrap())),
                            message: message("intent:pay@1", &id),
                        }],
                    },
                    _ => Disposition::Park {
                        cause: Cause::AttemptsExhausted,
                        error,
                    },
                };
                server.deal(&id, end).await;
                self.message(verb, &id);
            }
        }
    }

    /// Messages that wait, that are worked on, that miss another one, and that no consumer in the file is for.
    async fn other_messages(&mut self, server: &Server) {
        server.arrive("in-progress").await;
        server.claimed("mailer@1").await;
        server.arrive("waiting").await;
        for id in ["in-progress", "waiting"] {
            self.message("skip", id);
        }
        for number in 0..EACH {
            // Of a consumer of its own: a retry of all messages of the mailer would leave none parked.
            let id = format!("unpark-{number}");
            server.receive(vec![message("billing@1", &id)]).await;
            let fields = json!({ "consumer": "billing@1", "ids": [id], "reason": "INC-7" });
            let parked = send(server, "inbox/park", fields.clone()).await;
            assert_eq!(parked.json()["changed"], 1, "{parked:?}");
            self.add("POST /api/v1/inbox/unpark", fields);
        }
        let lane = Key::new("order-1").unwrap();
        let gap = message("indexer@1", "gap").with_lane(lane);
        server.receive(vec![gap.with_sequence(3).unwrap()]).await;
        for (id, payload) in [("conflict", "one"), ("conflict", "other")] {
            let first = message("indexer@1", id);
            let identity = first.identity().clone();
            let message = semel_core::inbox::Message::new(identity, payload).unwrap();
            let lane = Key::new("order-2").unwrap();
            let message = message.with_lane(lane).with_sequence(1).unwrap();
            server.receive(vec![message]).await;
        }
        let pause = json!({ "consumer": "indexer@1", "reason": "INC-7" });
        let paused = send(server, "inbox/pause", pause.clone()).await;
        assert_eq!(paused.status, 200, "{paused:?}");
        self.add(
            "POST /api/v1/inbox/pause",
            json!({ "consumer": "mailer@1" }),
        );
        for consumer in ["indexer@1", "mailer@1"] {
            self.add("POST /api/v1/inbox/resume", json!({ "consumer": consumer }));
        }
        self.add("GET /api/v1/inbox/gaps", json!({ "consumer": "indexer@1" }));
    }
}

/// What releases the record of a key, as one of many.
fn released(key: &str) -> Value {
    let mut fields = json!({ "all": false, "key": key, "how": "release", "dry_run": false });
    for other in [
        "tenant",
        "scope",
        "method",
        "older_than",
        "before",
        "verdict",
        "status",
        "headers",
        "body",
        "body_base64",
        "retention",
        "archive",
    ] {
        fields[other] = Value::Null;
    }
    fields
}

/// A claim; its fence.
async fn granted(server: &Server, key: &str, more: Value) -> u64 {
    let granted = post(server, "claims", key, more).await;
    assert_eq!(granted.status, 201, "{granted:?}");
    granted.json()["fence"].as_u64().unwrap()
}

async fn settle(server: &Server, key: &str, fence: u64, more: Value) -> Response {
    let mut fields = json!({ "fence": fence, "verdict": "succeeded", "status": 201, "body": "done",
                             "headers": [["X-Name", "value"]] });
    let more = more.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(more);
    post(server, "claims/settle", key, fields).await
}

async fn post(server: &Server, path: &str, key: &str, more: Value) -> Response {
    send(server, path, about(key, more)).await
}

async fn send(server: &Server, path: &str, body: Value) -> Response {
    let body = body.to_string();
    let request = format!(
        "POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    raw(server.address, request.as_bytes()).await
}
