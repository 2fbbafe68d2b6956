//! Upstreams that fail when the effect may have happened.

use std::time::Duration;

use semel_http::rules::Unknown;

use crate::support::{OK, Running, Upstream, guarding, start};

/// How an upstream fails once it has read a request.
const DEATHS: [&str; 5] = [
    "",
    "HTTP/1.1 200 O",
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
];

/// Dies like this on the first request and answers all later ones.
async fn dying(death: &'static str) -> Upstream {
    let deaths = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    Upstream::start(move |_request, mut peer| {
        let is_first = deaths.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        async move {
            peer.send(if is_first { death } else { OK }).await;
            (!is_first).then_some(peer)
        }
    })
    .await
}

fn holding(upstream: &Upstream) -> Running {
    start(guarding(upstream.url(), |rules| {
        rules.unknown = Unknown::Hold
    }))
}

#[tokio::test]
async fn an_upstream_that_dies_after_reading_leaves_the_outcome_unknown() {
    for death in DEATHS {
        let upstream = dying(death).await;
        let gateway = holding(&upstream);
        let first = gateway.post("/pay", "k", "{}").await;
        assert_eq!(
            first.problem(),
            (502, "upstream-failed".to_owned()),
            "{death:?}"
        );
        for _ in 0..2 {
            let next = gateway.post("/pay", "k", "{}").await;
            assert_eq!(
                next.problem(),
                (409, "outcome-unknown".to_owned()),
                "{death:?}"
            );
        }
        assert_eq!(upstream.effects(), 1, "{death:?}");
        assert_eq!(gateway.post("/pay", "other", "{}").await.status(), 200);
    }
}

#[tokio::test]
async fn an_effect_that_is_idempotent_is_run_again() {
    for death in DEATHS {
        let upstream = dying(death).await;
        let gateway = start(guarding(upstream.url(), |rules| {
            rules.unknown = Unknown::Rerun
        }));
        assert_eq!(
            gateway.post("/pay", "k", "{}").await.status(),
            502,
            "{death:?}"
        );
        let again = gateway.post("/pay", "k", "{}").await;
        assert_eq!(
            (again.status(), again.is_replay()),
            (200, false),
            "{death:?}"
        );
        assert!(gateway.post("/pay", "k", "{}").await.is_replay());
        let seen = upstream.seen();
        let attempts: Vec<_> = seen
            .iter()
            .map(|seen| seen.header("semel-attempt"))
            .collect();
        assert_eq!(attempts, [Some("1"), Some("2")]);
        let fence = |at: usize| {
            seen[at]
                .header("semel-fence")
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        assert!(fence(0) < fence(1));
    }
}

#[tokio::test]
async fn an_upstream_that_answers_too_late_leaves_the_outcome_unknown() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.rest().await;
        None
    })
    .await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.timeout = Duration::from_millis(50);
    }));
    let first = gateway.post("/pay", "k", "{}").await;
    assert_eq!(first.problem(), (504, "upstream-timeout".to_owned()));
    let next = gateway.post("/pay", "k", "{}").await;
    assert_eq!(next.problem(), (409, "outcome-unknown".to_owned()));
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn an_upstream_that_dies_before_reading_is_never_believed_to_have_run() {
    // It accepts and closes. Whether our bytes were on their way by then is a race, and both answers
    // are true; a third one, or an effect, would not be.
    let upstream = Upstream::raw(|peer| async move { drop(peer) }).await;
    for n in 0..20 {
        let gateway = holding(&upstream);
        let first = gateway.post("/pay", "k", "{}").await.problem();
        let next = gateway.post("/pay", "k", "{}").await.problem();
        match (first.1.as_str(), next.1.as_str()) {
            ("upstream-unreachable", "upstream-unreachable" | "upstream-failed") => {}
            ("upstream-failed", "outcome-unknown") => {}
            other => panic!("{other:?} at {n}"),
        }
    }
}

#[tokio::test]
async fn a_request_is_never_written_twice() {
    // Closes every connection after one answer without saying so: kept connections go stale all the time.
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send(OK).await;
        None
    })
    .await;
    let gateway = holding(&upstream);
    for n in 0..200 {
        let key = format!("k{n}");
        let status = gateway.post("/pay", &key, "{}").await.status();
        assert!(matches!(status, 200 | 502), "{status}");
    }
    let mut keys: Vec<_> = upstream
        .seen()
        .iter()
        .map(|seen| seen.header("idempotency-key").unwrap().to_owned())
        .collect();
    let arrived = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), arrived, "each operation arrived at most once");
}
