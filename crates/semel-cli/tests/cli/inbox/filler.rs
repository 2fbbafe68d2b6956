//! A store with a message in every state.

use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Arrivals, Cause, ClaimBatch, Disposition, Finish, Inbox, Job, Message, Order, Origin, Plan,
    Step, UnknownPolicy, WorkerName,
};
use semel_core::{Headers, Identity, LeaseTerm, Outcome};

use crate::fixture::{Filler, Fixture, HOUR, block_on};

const MINUTE: Duration = Duration::from_secs(60);

/// The policies of the consumers: the mailer's effects reach others, the indexer can be rebuilt.
pub(crate) const CONFIG: &str = "\
consumers:
  mailer:
    deliver: http://127.0.0.1:9/mail
  indexer:
    deliver: http://127.0.0.1:9/index
    strategy: { type: aggregate-version-upsert }
    replay: { allowed: true, sideEffects: none }
";

impl Fixture {
    /// A store with a message in every state.
    pub(crate) fn with_messages() -> Self {
        let fixture = Self::empty();
        block_on(Filler::open(&fixture.path()).fill_inbox());
        fixture.served_until_now();
        fixture
    }

    /// The same beside a configuration file.
    pub(crate) fn configured() -> Self {
        let fixture = Self::with_messages();
        std::fs::write(fixture.path().with_file_name("semel.yaml"), CONFIG).unwrap();
        fixture
    }

    /// The state of a message.
    pub(crate) fn state(&self, consumer: &str, id: &str) -> String {
        let shown = self.run(&["inbox", "show", consumer, id, "--json"]).json();
        shown["message"]["state"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn message(consumer: &str, id: &str) -> Message {
    let identity = Identity::parse("public", consumer, id).unwrap();
    let headers = [("content-type", "application/json"), ("x-token", "SECRET")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.into()));
    let message = Message::new(identity, format!(r#"{{"id":"{id}","iban":"SECRET"}}"#)).unwrap();
    let origin = Origin {
        topic: "orders".to_owned(),
        partition: Some(3),
        offset: Some(42),
    };
    let message = message.with_headers(Headers::new(headers.to_vec()).unwrap());
    let message = message.with_kind("order.paid", Some(2)).unwrap();
    message.with_origin(origin).unwrap()
}

/// A version of an order.
pub(crate) fn version(order: &str, sequence: u64) -> Message {
    let message = message("indexer@1", &format!("{order}-v{sequence}"));
    let message = message.with_lane(order.parse().unwrap());
    message.with_sequence(sequence).unwrap()
}

pub(crate) fn plan(consumer: &str) -> Plan {
    let mut plan = Plan::new(consumer.parse().unwrap());
    if consumer == "indexer@1" {
        plan.order = Order::Sequence {
            baseline: Default::default(),
            on_gap: Default::default(),
            on_terminal: Default::default(),
        };
    }
    plan
}

fn completed() -> Disposition {
    let mut outcome = Outcome::succeeded(r#"{"mail":"SECRET"}"#);
    outcome.status = 200;
    let intents = Vec::new();
    Disposition::Completed { outcome, intents }
}

fn retry(after: Duration) -> Disposition {
    Disposition::Retry {
        after,
        cause: Cause::Retryable,
        error: ErrorText::new("503 Service Unavailable: the mail server is being updated"),
    }
}

impl Filler {
    pub(crate) async fn receive(&self, message: Message) {
        let plan = plan(&message.identity().scope().to_string());
        let arrivals = Arrivals {
            plan,
            messages: vec![message],
            positions: Vec::new(),
        };
        self.store.receive(arrivals).await.unwrap();
    }

    async fn claim_message(&self, consumer: &str, lease: Duration) -> Job {
        let ask = ClaimBatch {
            plan: Plan::new(consumer.parse().unwrap()),
            worker: WorkerName::new("host-1").unwrap(),
            max: 1,
            bytes_max: usize::MAX,
            lease: LeaseTerm::new(lease).unwrap(),
            on_unknown: UnknownPolicy::Rerun,
        };
        let mut claimed = self.store.claim_batch(ask).await.unwrap();
        claimed.jobs.pop().unwrap()
    }

    async fn finish(&self, job: &Job, disposition: Disposition) {
        let plan = plan(&job.message.identity().scope().to_string());
        let finish = Finish {
            claim: job.claim.clone(),
            took: Duration::ZERO,
            disposition,
        };
        self.store.finish(plan, vec![finish]).await.unwrap();
    }

    /// Receives a message of the mailer, and ends its first attempt.
    async fn deal(&self, id: &str, disposition: Disposition) {
        self.receive(message("mailer@1", id)).await;
        let job = self.claim_message("mailer@1", MINUTE).await;
        self.finish(&job, disposition).await;
    }

    pub(crate) async fn fill_inbox(&self) {
        self.ago(HOUR * 20);
        self.deal("evt-1", completed()).await;
        self.receive(message("mailer@1", "evt-1")).await;
        self.receive(message("mailer@1", "evt-1")).await;

        self.ago(HOUR * 5);
        self.deal("evt-2", retry(MINUTE)).await;
        self.ago(HOUR * 5 - MINUTE * 2);
        let job = self.claim_message("mailer@1", MINUTE).await;
        let step = Step::new("charge", "SECRET").unwrap();
        let claim = job.claim.clone();
        self.store.remember_step(claim, step).await.unwrap();
        let error = ErrorText::new("503 Service Unavailable: the mail server is being updated");
        let cause = Cause::AttemptsExhausted;
        self.finish(&job, Disposition::Park { cause, error }).await;
        let error = ErrorText::new("422 Unprocessable Content: no such address");
        self.deal("evt-3", Disposition::Terminal { error }).await;

        self.ago(HOUR * 2);
        self.deal("evt-4", retry(HOUR * 14 + MINUTE)).await;
        self.receive(message("mailer@1", "evt-5")).await;
        self.claim_message("mailer@1", HOUR * 14 + MINUTE).await;
        self.receive(message("mailer@1", "evt 6")).await;
        let other = Message::new(message("mailer@1", "evt-1").identity().clone(), "other").unwrap();
        self.receive(other).await;

        self.receive(version("order-1", 1)).await;
        let job = self.claim_message("indexer@1", MINUTE).await;
        self.finish(&job, completed()).await;
        for sequence in [4, 5, 9] {
            self.receive(version("order-1", sequence)).await;
        }
        self.receive(version("order-1", 1)).await;
    }
}
