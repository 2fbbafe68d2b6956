//! What is logged: every change of state, and nothing of what was asked or answered.
//!
//! A process of its own, because events come from the store's threads, too, and only a subscriber
//! of the whole process sees those.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use semel_admin::{Metered, Metrics};
use semel_core::record::{Claim, UnknownCause};
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkRequest, Resolution, ResolveRequest, SettleRequest,
    Takeover,
};
use semel_core::{
    Fingerprint, Headers, Identity, LeaseTerm, ManualClock, Outcome, Retention, Store, StoreExt,
    Timestamp,
};
use serde_json::Value;
use tempfile::TempDir;
use tracing_subscriber::fmt::MakeWriter;

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The log of this process, at the most talkative level.
fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(log.clone());
        tracing::subscriber::set_global_default(subscriber.finish()).unwrap();
        log
    })
}

/// Level, event and detail of every line about `key`.
fn lines(key: &str) -> Vec<String> {
    let text = String::from_utf8(log().0.lock().unwrap().clone()).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["fields"]["key"] == key)
        .map(|line| {
            assert_eq!(line["target"], "semel::state");
            let fields = line["fields"].as_object().unwrap();
            let detail = ["fence", "attempt", "cause", "verb", "verdict", "by", "how"]
                .into_iter()
                .filter_map(|name| Some(format!(" {name}={}", fields.get(name)?)));
            let event = fields["event"].as_str().unwrap();
            let level = line["level"].as_str().unwrap();
            format!("{level} {event}{}", detail.collect::<String>())
        })
        .collect()
}

struct Subject {
    store: Metered,
    clock: Arc<ManualClock>,
    identity: Identity,
    _dir: TempDir,
}

impl Subject {
    fn new(key: &str) -> Self {
        log();
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_794_787_200_000)));
        let metrics = Arc::new(Metrics::new());
        let sqlite = semel_sqlite::Config::new(dir.path().join("semel.db"))
            .clock(clock.clone())
            .watch(metrics.clone())
            .sweep_every(None)
            .open()
            .unwrap();
        Self {
            store: Metered::new(Arc::new(sqlite), metrics),
            clock,
            identity: Identity::parse("acme", "payments@1", key).unwrap(),
            _dir: dir,
        }
    }

    async fn claim(&self, takeover: Takeover, fingerprint: Fingerprint) -> Option<Claim> {
        let request = ClaimRequest {
            identity: self.identity.clone(),
            fingerprint,
            lease: LeaseTerm::default(),
            takeover,
            about: None,
            nonce: None,
        };
        match self.store.claim_one(request).await.unwrap() {
            ClaimAnswer::Granted(lease) => Some(lease.claim),
            _ => None,
        }
    }

    async fn granted(&self, takeover: Takeover) -> Claim {
        self.claim(takeover, Fingerprint::none()).await.unwrap()
    }

    async fn settle(&self, claim: Claim) {
        let mut outcome = Outcome::succeeded("secret-body");
        let fields = vec![("X-Token".to_owned(), "secret-value".into())];
        outcome.headers = Headers::new(fields).unwrap();
        let settle = SettleRequest {
            claim,
            outcome,
            took: Duration::ZERO,
            retention: Retention::default(),
        };
        self.store.settle_one(settle).await.unwrap();
    }

    async fn resolve(&self, claim: Claim, resolution: Resolution) {
        let by = Actor::new("ada").unwrap();
        let resolve = ResolveRequest {
            claim,
            by,
            resolution,
            reason: None,
        };
        self.store.resolve_one(resolve).await.unwrap();
    }
}

#[tokio::test]
async fn every_change_of_state_is_logged_once() {
    let subject = Subject::new("busy");
    let first = subject.granted(Takeover::Never).await;
    subject
        .claim(Takeover::Never, Fingerprint::of_bytes(b"secret-request"))
        .await;
    subject.clock.advance(Duration::from_secs(31));
    subject.claim(Takeover::Never, Fingerprint::none()).await;
    let second = subject.granted(Takeover::Allowed).await;
    subject.settle(first).await;
    subject.settle(second.clone()).await;
    subject.claim(Takeover::Never, Fingerprint::none()).await;
    subject.store.release_one(second.clone()).await.unwrap();
    subject.resolve(second, Resolution::Erase).await;
    let third = subject.granted(Takeover::Never).await;
    let (claim, cause) = (third.clone(), UnknownCause::RunUndecided);
    subject
        .store
        .mark_one(MarkRequest {
            claim,
            cause,
            evidence: None,
        })
        .await
        .unwrap();
    subject.resolve(third, Resolution::Release).await;
    let fourth = subject.granted(Takeover::Never).await;
    subject.store.release_one(fourth).await.unwrap();
    insta::assert_snapshot!(lines("busy").join("\n"), @r#"
    DEBUG claimed fence=1 attempt=1
    WARN mismatch
    WARN became-unknown fence=1 cause="lease-ended"
    INFO took-over fence=2 attempt=2
    WARN late-outcome fence=1 verdict="succeeded"
    DEBUG settled fence=2 verdict="succeeded"
    INFO lease-lost fence=2 verb="release"
    INFO erased fence=2 by="ada"
    DEBUG claimed fence=3 attempt=1
    WARN became-unknown fence=3 cause="run-undecided"
    INFO resolved fence=3 by="ada" how="released"
    DEBUG claimed fence=4 attempt=1
    INFO released fence=4
    "#);
}

#[tokio::test]
async fn a_sweep_names_every_lease_that_ended() {
    let subject = Subject::new("swept");
    subject.granted(Takeover::Never).await;
    subject.clock.advance(Duration::from_secs(31));
    subject.store.sweep(100).await.unwrap();
    insta::assert_snapshot!(lines("swept").join("\n"), @r#"
    DEBUG claimed fence=1 attempt=1
    WARN became-unknown fence=1 cause="lease-ended"
    "#);
}

#[tokio::test]
async fn nothing_that_was_asked_or_answered_is_logged() {
    let subject = Subject::new("quiet");
    let claim = subject.granted(Takeover::Never).await;
    subject.settle(claim.clone()).await;
    subject.clock.advance(Duration::from_secs(31));
    subject.settle(claim).await;
    subject
        .claim(Takeover::Never, Fingerprint::of_bytes(b"secret-request"))
        .await;
    assert!(!lines("quiet").is_empty());
    let text = String::from_utf8(log().0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert!(!format!("{:?}", subject.store).contains("secret"));
}

/// Level and event of every line about the message `id`.
fn message_lines(id: &str) -> Vec<String> {
    let text = String::from_utf8(log().0.lock().unwrap().clone()).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["fields"]["id"] == id)
        .map(|line| {
            assert_eq!(line["target"], "semel::state");
            assert_eq!(line["fields"]["consumer"], "mailer@1");
            let detail = ["cause", "state", "first", "intents"]
                .into_iter()
                .filter_map(|name| Some(format!(" {name}={}", line["fields"].get(name)?)));
            let event = line["fields"]["event"].as_str().unwrap();
            let level = line["level"].as_str().unwrap();
            format!("{level} {event}{}", detail.collect::<String>())
        })
        .collect()
}

#[test]
fn what_is_unusual_about_a_message_is_logged_and_never_its_payload() {
    use semel_core::inbox::{Cause, Message, Receipt, State};
    use semel_inbox::{AttemptEnd, Observer};
    log();
    let metrics = Metrics::new();
    let identity = Identity::parse("acme", "mailer@1", "evt-1").unwrap();
    let message = Message::new(identity, "secret-payload").unwrap();
    let end = |state, cause, late| AttemptEnd {
        state,
        cause,
        took: Duration::ZERO,
        late,
    };
    let state = State::Received;
    metrics.received(&message, Receipt::Stored { state });
    metrics.received(&message, Receipt::duplicate(state));
    metrics.received(&message, Receipt::Conflict);
    metrics.reclaimed(&message);
    let retryable = Some(Cause::Retryable);
    metrics.finished(&message, end(State::FailedRetryable, retryable, false));
    let exhausted = Some(Cause::AttemptsExhausted);
    metrics.finished(&message, end(State::Parked, exhausted, false));
    metrics.finished(&message, end(State::Completed, None, true));
    metrics.finished(&message, end(State::Completed, None, false));
    metrics.suppressed(&message, 2);
    insta::assert_snapshot!(message_lines("evt-1").join("\n"), @r#"
    DEBUG received
    INFO duplicate-skipped first="RECEIVED"
    WARN conflict-parked
    WARN reclaimed
    INFO failed-retryable cause="retryable"
    WARN parked cause="attempts-exhausted"
    WARN came-too-late state="COMPLETED"
    DEBUG completed
    INFO side-effects-suppressed intents=2
    "#);
    let text = String::from_utf8(log().0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("secret-payload"), "{text}");
}
