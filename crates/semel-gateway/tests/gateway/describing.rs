//! What a record says about a request whose outcome is unknown: as much as its route allows.

use std::time::Duration;

use semel_core::store::{Query, StateFilter};
use semel_core::{Record, State};
use semel_http::rules::Describe;

use crate::support::{Running, Upstream, guarding, reply, start};

impl Running {
    /// The one unknown record.
    async fn unknown(&self) -> Record {
        let query = Query {
            state: Some(StateFilter::Unknown),
            ..Query::default()
        };
        let mut records = self.store.list(query).await.unwrap().records;
        assert_eq!(records.len(), 1);
        records.remove(0)
    }
}

fn gateway(upstream: &Upstream, describe: Describe) -> Running {
    start(guarding(upstream.url(), |rules| {
        rules.describe = describe;
        rules.timeout = Duration::from_millis(50);
    }))
}

/// What was asked, and what is known of its outcome without how long it took.
fn said(record: &Record) -> (Option<String>, Option<u16>, Option<String>) {
    let about = record.about.as_ref().map(ToString::to_string);
    let State::Unknown { evidence, .. } = &record.state else {
        panic!("{record:?} is not unknown");
    };
    let evidence = evidence.as_ref().unwrap();
    (about, evidence.status, evidence.error().map(str::to_owned))
}

#[tokio::test]
async fn a_gateway_timeout_of_the_service_is_on_record_with_method_and_path() {
    let upstream = Upstream::answering(reply("504 Gateway Timeout", "", "")).await;
    for (describe, about) in [
        (Describe::Path, Some("POST /pay")),
        (Describe::Method, Some("POST …")),
        (Describe::Off, None),
    ] {
        let gateway = gateway(&upstream, describe);
        assert_eq!(
            gateway.post("/pay?token=secret", "k", "{}").await.status(),
            504
        );
        let record = gateway.unknown().await;
        let expected = (about.map(str::to_owned), Some(504), None);
        assert_eq!(said(&record), expected, "{describe:?}");
    }
}

#[tokio::test]
async fn a_service_that_is_silent_or_dies_is_on_record_with_the_error() {
    let silent = Upstream::start(|_request, mut peer| async move {
        peer.rest().await;
        None
    })
    .await;
    let dying = Upstream::start(|_request, mut peer| async move {
        peer.send("HTTP/1.1 200 O").await;
        None
    })
    .await;
    for (upstream, shown, redacted) in [
        (&silent, "no answer within", "no answer in time"),
        (&dying, "", "no answer"),
    ] {
        let open = gateway(upstream, Describe::Path);
        open.post("/pay", "k", "{}").await;
        let (about, status, error) = said(&open.unknown().await);
        assert_eq!((about.as_deref(), status), (Some("POST /pay"), None));
        let error = error.unwrap();
        assert!(error.contains(shown) && error != redacted, "{error}");

        let closed = gateway(upstream, Describe::Off);
        closed.post("/pay", "k", "{}").await;
        let expected = (None, None, Some(redacted.to_owned()));
        assert_eq!(said(&closed.unknown().await), expected);
    }
}

#[tokio::test]
async fn callers_hear_no_more_than_that_the_outcome_is_unknown() {
    let upstream = Upstream::answering(reply("504 Gateway Timeout", "", "")).await;
    let gateway = gateway(&upstream, Describe::Path);
    gateway.post("/pay", "k", "{}").await;
    let held = gateway.post("/pay", "k", "{}").await;
    assert_eq!(held.problem(), (409, "outcome-unknown".to_owned()));
    let body = held.text();
    assert!(!body.contains("504") && !body.contains("/pay"), "{body}");
}
