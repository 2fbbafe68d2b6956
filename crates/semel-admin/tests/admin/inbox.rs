//! Messages for operators.

use std::collections::BTreeSet;
use std::time::Duration;

use insta::assert_snapshot;
use semel_admin::{Admin, Config, Metered, Metrics, Parts};
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Arrivals, Cause, ClaimBatch, Claimed, Disposition, Finish, Job, Message, Plan, Receipt, State,
    Step, UnknownPolicy, WorkerName,
};
use semel_core::{Headers, Identity, LeaseTerm, MemoryStore, Outcome};
use semel_inbox::source::SourceView;
use semel_inbox::{AttemptEnd, Observer};
use serde_json::{Value, json};

use crate::metrics::metrics_with;
use crate::server::{Server, policies};

/// A message of acme's or the public's, with a secret in it.
pub(crate) fn message(consumer: &str, id: &str) -> Message {
    let identity = Identity::parse("public", consumer, id).unwrap();
    let headers = vec![("X-Trace".to_owned(), "secret-trace".into())];
    let message = Message::new(identity, format!("secret {id}")).unwrap();
    message.with_headers(Headers::new(headers).unwrap())
}

fn completed(body: &'static str) -> Disposition {
    Disposition::Completed {
        outcome: Outcome::succeeded(body),
        intents: Vec::new(),
    }
}

pub(crate) fn failed(cause: Cause) -> Disposition {
    let error = ErrorText::new("the mail server said no");
    Disposition::Park { cause, error }
}

impl Server {
    pub(crate) async fn receive(&self, messages: Vec<Message>) -> Vec<Receipt> {
        let consumer = messages[0].identity().scope();
        let plan = policies().plan(consumer);
        let positions = Vec::new();
        let arrivals = Arrivals {
            plan,
            messages,
            positions,
        };
        self.inbox.receive(arrivals).await.unwrap()
    }

    /// Receives one message of the mailer.
    pub(crate) async fn arrive(&self, id: &str) -> Receipt {
        let receipts = self.receive(vec![message("mailer@1", id)]).await;
        receipts[0]
    }

    pub(crate) async fn claimed(&self, consumer: &str) -> Job {
        self.claim_batch(consumer).await.jobs.pop().unwrap()
    }

    pub(crate) async fn claim_batch(&self, consumer: &str) -> Claimed {
        let ask = ClaimBatch {
            plan: Plan::new(consumer.parse().unwrap()),
            worker: WorkerName::new("worker-1").unwrap(),
            max: 1,
            bytes_max: usize::MAX,
            lease: LeaseTerm::default(),
            on_unknown: UnknownPolicy::Rerun,
        };
        self.inbox.claim_batch(ask).await.unwrap()
    }

    pub(crate) async fn finish(&self, job: Job, disposition: Disposition) {
        let plan = policies().plan(job.message.identity().scope());
        let took = Duration::from_millis(250);
        let claim = job.claim;
        let finish = Finish {
            claim,
            took,
            disposition,
        };
        self.inbox.finish(plan, vec![finish]).await.unwrap();
    }

    /// Receives a message of the mailer and ends its first attempt.
    pub(crate) async fn deal(&self, id: &str, disposition: Disposition) {
        self.arrive(id).await;
        let job = self.claimed("mailer@1").await;
        self.finish(job, disposition).await;
    }

    async fn ids(&self, filter: &str) -> Vec<String> {
        let page = self.get(&format!("/api/v1/inbox?{filter}")).await.json();
        let messages = page["messages"].as_array().unwrap().iter();
        messages
            .map(|message| message["id"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) async fn act(&self, verb: &str, mut body: Value) -> crate::http::Response {
        body["by"] = json!("ada");
        self.post(&format!("/api/v1/inbox/{verb}"), body).await
    }
}

/// Some messages of the mailer: one done, one parked, one that waits.
pub(crate) async fn filled() -> Server {
    let server = Server::start().await;
    server.deal("done", completed("sent")).await;
    server
        .deal("parked", failed(Cause::AttemptsExhausted))
        .await;
    server.arrive("waiting").await;
    server
}

#[tokio::test]
async fn messages_are_listed_page_by_page_and_filtered() {
    let server = filled().await;
    let page = server.get("/api/v1/inbox?limit=2").await.json();
    let next = page["next"].as_u64().unwrap();
    assert_eq!(server.ids("limit=2").await, ["waiting", "parked"]);
    assert_eq!(server.ids(&format!("before={next}")).await, ["done"]);
    for (filter, ids) in [
        ("state=PARKED", vec!["parked"]),
        ("state=received,parked", vec!["waiting", "parked"]),
        ("state=COMPLETED", vec!["done"]),
        ("cause=attempts-exhausted", vec!["parked"]),
        ("consumer=mailer&state=RECEIVED", vec!["waiting"]),
        ("consumer=mailer@2", vec![]),
        ("lane=order-1", vec![]),
    ] {
        assert_eq!(server.ids(filter).await, ids, "{filter}");
    }
    for filter in ["state=DONE", "cause=because", "limit=0", "status=PARKED"] {
        let refused = server.get(&format!("/api/v1/inbox?{filter}")).await;
        assert_eq!(refused.problem(), "invalid-input", "{filter}");
    }
}

#[tokio::test]
async fn one_message_comes_with_its_history_and_its_payload_only_if_asked_for() {
    let server = Server::start().await;
    server.arrive("evt-1").await;
    let job = server.claimed("mailer@1").await;
    let step = Step::new("charge", "secret result").unwrap();
    let claim = job.claim.clone();
    server.inbox.remember_step(claim, step).await.unwrap();
    server.wait(1);
    server.finish(job, failed(Cause::AttemptsExhausted)).await;
    let path = "/api/v1/inbox/one?consumer=mailer&id=evt-1";
    let seen = server.get(path).await;
    assert!(!seen.body.contains("secret"), "{}", seen.body);
    assert_snapshot!(seen.shown(), @r#"
    200
    {
      "arrived": {
        "fingerprint": "ae7550555829948e9a317314fd145ce83d967c4ec8f694afee16bf622fd3c19f",
        "headers": [
          {
            "name": "X-Trace"
          }
        ],
        "offset": null,
        "partition": null,
        "payload": {
          "blake3": "9336dd3ab31cccd8729cd6238d9b3ae99a44a98a00059c2423d492d7e26a989a",
          "bytes": 12,
          "kept": true
        },
        "schema_version": null,
        "topic": null
      },
      "attempts": [
        {
          "answer": null,
          "began_at": "2026-11-16T00:00:00.000Z",
          "cause": "attempts-exhausted",
          "ended_at": "2026-11-16T00:00:01.000Z",
          "error": "the mail server said no",
          "fence": 1,
          "generation": 0,
          "late": false,
          "number": 1,
          "state": "PARKED",
          "worker": "worker-1"
        }
      ],
      "edits": [],
      "erased_at": null,
      "message": {
        "age_ms": 1000,
        "attempts": 1,
        "cause": "attempts-exhausted",
        "changed_at": "2026-11-16T00:00:01.000Z",
        "consumer": "mailer@1",
        "due_at": null,
        "duplicates": 0,
        "error": "the mail server said no",
        "event_type": null,
        "generation": 0,
        "id": "evt-1",
        "lane": null,
        "number": 1,
        "payload_bytes": 12,
        "received_at": "2026-11-16T00:00:00.000Z",
        "sequence": null,
        "state": "PARKED",
        "tenant": "public",
        "worker": null
      },
      "outcome": null,
      "settled": null,
      "steps": [
        {
          "name": "charge",
          "result": {
            "blake3": "91f7545ee3d013427503248da15cabe549e23aec7f0c8efa63baf1f1c6c9747f",
            "bytes": 13,
            "kept": true
          }
        }
      ],
      "timeline": [
        {
          "at": "2026-11-16T00:00:00.000Z",
          "cause": null,
          "detail": null,
          "state": "RECEIVED"
        },
        {
          "at": "2026-11-16T00:00:00.000Z",
          "cause": null,
          "detail": "worker-1",
          "state": "IN_PROGRESS"
        },
        {
          "at": "2026-11-16T00:00:01.000Z",
          "cause": "attempts-exhausted",
          "detail": "the mail server said no",
          "state": "PARKED"
        }
      ]
    }
    "#);
    let shown = server.get(&format!("{path}&payload=true")).await.json();
    assert_eq!(shown["arrived"]["payload"]["text"], "secret evt-1");
    assert_eq!(shown["arrived"]["headers"][0]["value"], "secret-trace");
    assert_eq!(shown["steps"][0]["result"]["text"], "secret result");
    let missing = server
        .get("/api/v1/inbox/one?consumer=mailer&id=evt-2")
        .await;
    assert_eq!(missing.problem(), "not-found");
}

#[tokio::test]
async fn counts_are_told_by_consumer_and_in_the_metrics() {
    let server = filled().await;
    server.wait(5);
    let counts = server.get("/api/v1/inbox/counts").await.json();
    let mailer = &counts["consumers"][0];
    assert_eq!(mailer["consumer"], "mailer@1");
    for (state, count) in [("received", 1), ("parked", 1), ("pending", 1)] {
        assert_eq!(mailer[state], count, "{state}");
    }
    assert_eq!(mailer["oldest_pending"]["age_ms"], 5_000);
    metrics_with(
        &server,
        &[
            "semel_inbox_messages{consumer=\"mailer@1\",state=\"RECEIVED\"} 1",
            "semel_inbox_messages{consumer=\"mailer@1\",state=\"PARKED\"} 1",
            "semel_inbox_messages{consumer=\"mailer@1\",state=\"IN_PROGRESS\"} 0",
            "semel_inbox_pending{consumer=\"mailer@1\"} 1",
            "semel_inbox_stale{consumer=\"mailer@1\"} 0",
            "semel_inbox_oldest_pending_seconds{consumer=\"mailer@1\"} 5.0",
        ],
    )
    .await;
}

#[tokio::test]
async fn gaps_tell_which_versions_are_missing() {
    let server = Server::start().await;
    for sequence in [1, 4, 7] {
        let message = message("indexer@1", &format!("v{sequence}"));
        let message = message.with_lane("order-1".parse().unwrap());
        let message = message.with_sequence(sequence).unwrap();
        server.receive(vec![message]).await;
    }
    let gaps = server.get("/api/v1/inbox/gaps?consumer=indexer").await;
    let gap = &gaps.json()["gaps"][0];
    assert_eq!(gap["lane"], "order-1");
    let missing = json!([{ "from": 2, "to": 3 }, { "from": 5, "to": 6 }]);
    assert_eq!(gap["missing"], missing);
    assert_eq!(
        (&gap["waiting"], &gap["left_ms"]),
        (&json!(2), &json!(300_000))
    );
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_a_retry_leaves_a_line_in_the_audit() {
    let server = filled().await;
    let retry = json!({ "consumer": "mailer", "ids": ["parked"], "reason": "INC-7" });
    let mut dry = retry.clone();
    dry["dry_run"] = json!(true);
    let said = server.act("retry", dry).await;
    assert_snapshot!(said.shown(), @r#"
    200
    {
      "action": "retry",
      "changed": 1,
      "conflicts": 0,
      "consumer": "mailer@1",
      "dry_run": true,
      "gone": 0,
      "matched": 1,
      "more": false,
      "older": 0,
      "sample": [
        "parked"
      ],
      "settled": 0,
      "skipped": 0,
      "unchanged_since": "2026-11-16T00:00:00.000Z",
      "unseen_before": null,
      "waiting": 0
    }
    "#);
    assert_eq!(server.ids("state=PARKED").await, ["parked"]);
    let none = server.get("/api/v1/inbox/audit").await.json();
    assert_eq!(none, json!({ "audit": [] }));

    let done = server.act("retry", retry).await.json();
    assert_eq!(
        (&done["changed"], &done["dry_run"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(server.ids("state=PARKED").await, Vec::<String>::new());
    let audit = server.get("/api/v1/audit?limit=1").await;
    assert_snapshot!(audit.shown(), @r#"
    200
    {
      "audit": [
        {
          "action": "retry",
          "at": "2026-11-16T00:00:00.000Z",
          "by": "no-token:ada",
          "changed": 1,
          "reason": "INC-7",
          "scope": "mailer@1",
          "selection": "id parked",
          "verb": "api inbox retry"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn messages_are_parked_unparked_and_skipped_by_hand() {
    let server = filled().await;
    let waiting = || json!({ "consumer": "mailer", "ids": ["waiting"] });
    for (verb, state) in [
        ("park", "PARKED"),
        ("unpark", "RECEIVED"),
        ("skip", "SKIPPED_DUPLICATE"),
    ] {
        let done = server.act(verb, waiting()).await.json();
        assert_eq!(done["changed"], 1, "{verb}");
        let found = server.ids(&format!("state={state}")).await;
        assert!(found.contains(&"waiting".to_owned()), "{verb}: {found:?}");
    }
    let by_state = json!({ "consumer": "mailer", "states": ["PARKED"], "from": "1h" });
    let done = server.act("skip", by_state).await.json();
    assert_eq!(done["sample"], json!(["parked"]));
}

#[tokio::test]
async fn a_replay_needs_the_policy_or_force_with_a_reason() {
    let server = filled().await;
    let replay = || json!({ "consumer": "mailer", "ids": ["done"] });
    let refused = server.act("replay", replay()).await;
    assert_snapshot!(refused.shown(), @r#"
    409
    {
      "detail": "the policy of consumer mailer@1 does not allow replays, because its effects reach others; to replay all the same, force it and give a reason",
      "ran": "no",
      "status": 409,
      "title": "The decision does not fit the state of the record",
      "type": "urn:semel:problem:decision-refused"
    }
    "#);
    let with = |more: Value| {
        let mut body = replay();
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        body
    };
    let unsaid = server.act("replay", with(json!({ "force": true }))).await;
    assert_eq!(unsaid.problem(), "decision-refused");
    let look = server.act("replay", with(json!({ "dry_run": true }))).await;
    assert_eq!(look.json()["changed"], 1);
    let forced = with(json!({ "force": true, "reason": "INC-7" }));
    let done = server.act("replay", forced).await.json();
    assert_eq!(
        (&done["changed"], &done["action"]),
        (&json!(1), &json!("replay"))
    );
    let job = server.claimed("mailer@1").await;
    assert!(job.replay || job.message.identity().key().as_str() == "waiting");
    let rebuild = json!({ "consumer": "indexer", "all": true });
    let done = server.act("replay", rebuild).await.json();
    assert_eq!(done["action"], "rebuild");
}

#[tokio::test]
async fn what_is_to_change_has_to_be_said() {
    let server = filled().await;
    let ids: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    for (body, field) in [
        (json!({ "consumer": "mailer" }), Some("ids")),
        (json!({ "consumer": "mailer", "ids": ids }), Some("ids")),
        (json!({ "consumer": "mailer", "ids": [""] }), Some("ids")),
        (
            json!({ "consumer": "mailer", "states": ["GONE"] }),
            Some("states"),
        ),
        (
            json!({ "consumer": "mailer", "all": true, "from": "soon" }),
            Some("from"),
        ),
        (
            json!({ "consumer": "mailer", "all": true, "force": true }),
            Some("force"),
        ),
        (
            json!({ "consumer": "mailer", "every": true }),
            Some("every"),
        ),
        (json!({ "all": true }), None),
    ] {
        let refused = server.act("retry", body).await;
        assert_eq!(refused.problem(), "invalid-input");
        assert_eq!(refused.json()["field"].as_str(), field, "{refused:?}");
    }
    assert_eq!(server.ids("state=PARKED").await, ["parked"]);
}

#[tokio::test]
async fn a_store_without_an_inbox_says_so() {
    let metrics = std::sync::Arc::new(Metrics::new());
    let store = Metered::new(std::sync::Arc::new(MemoryStore::new()), metrics);
    let config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        ..Config::default()
    };
    let admin = Admin::bind(&config, Parts::new(store)).await.unwrap();
    let address = admin.address().tcp().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(admin.serve(async { drop(stopped.await) }));
    let refused = crate::http::get(address, "/api/v1/inbox").await;
    assert_eq!(refused.problem(), "not-found");
    assert!(refused.body.contains("SQLite or PostgreSQL"), "{refused:?}");
    let mut browser = crate::browsing::Browser::at(address);
    for path in ["/inbox", "/inbox/one", "/dead-letters", "/intents"] {
        let page = browser.open(path).await;
        for text in [
            "This store has no inbox.",
            "SQLite or PostgreSQL",
            "href=\"/keys\"",
        ] {
            assert!(page.contains(text), "{path}: {text}: {page}");
        }
    }
    drop(stop);
    served.await.unwrap();
}

#[tokio::test]
async fn the_documentation_names_every_series_and_no_other() {
    const PAGE: &str = include_str!("../../../../docs/inbox.md");
    let server = filled().await;
    let message = message("mailer@1", "evt-1");
    server.metrics.received(&message, Receipt::Conflict);
    let end = AttemptEnd {
        state: State::Parked,
        cause: Some(Cause::Handler),
        took: Duration::ZERO,
        late: false,
    };
    server.metrics.finished(&message, end);
    let consumer = message.identity().scope();
    server.metrics.expect_alert(consumer, "parked");
    server.metrics.expect_circuit(consumer);
    server.metrics.id_suspected(&message, "time");
    server.metrics.replayed(&message, false);
    let mut source = SourceView::new("kafka:orders", consumer.clone());
    source.facts.lag = Some(7);
    let look = move || vec![source.clone()];
    server.metrics.watch_sources(Some(Box::new(look)));
    let counted = "semel_inbox_paused{consumer=\"mailer@1\"} 0";
    let text = metrics_with(&server, &[counted]).await;
    let declared = text.lines().filter_map(|line| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        let suffix = if kind == "counter" { "_total" } else { "" };
        let ours = ["semel_inbox", "semel_source", "semel_alert"];
        let ours = ours.iter().any(|prefix| name.starts_with(prefix));
        ours.then(|| format!("{name}{suffix}"))
    });
    let rows = PAGE.lines().filter_map(|line| {
        let name = line.strip_prefix("| `semel_")?.split('`').next()?;
        Some(format!("semel_{name}"))
    });
    let named: BTreeSet<String> = rows.collect();
    assert_eq!(named, declared.collect::<BTreeSet<String>>());
}
