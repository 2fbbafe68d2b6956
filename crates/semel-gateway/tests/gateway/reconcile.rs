//! Asking a URL what became of an unknown outcome.

use std::time::Duration;

use semel_core::StoreExt;
use semel_gateway::{Config, NoReconciler};

use crate::support::{OK, Running, Upstream, guarding, reply, start};

/// An upstream that dies on the first request and answers later ones.
async fn dying() -> Upstream {
    let deaths = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    Upstream::start(move |_request, mut peer| {
        let is_first = deaths.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        async move {
            if is_first {
                return None;
            }
            peer.send(OK).await;
            Some(peer)
        }
    })
    .await
}

fn asking(upstream: &Upstream, provider: &Upstream) -> Config {
    let mut config = guarding(upstream.url(), |_rules| {});
    let url = format!(
        "{}/status?key={{key}}&fence={{fence}}&t={{tenant}}&s={{scope}}",
        provider.url()
    );
    let url = url.parse::<semel_gateway::ReconcileUrl>().unwrap();
    config.routes[0].reconcile = Some(url.within(Duration::from_millis(500)));
    config
}

/// A gateway with one operation whose outcome is unknown.
async fn undecided(upstream: &Upstream, provider: &Upstream) -> Running {
    let gateway = start(asking(upstream, provider));
    let first = gateway.post("/pay", "k/1", "{}").await;
    assert_eq!(first.problem(), (502, "upstream-failed".to_owned()));
    gateway
}

#[tokio::test]
async fn what_happened_is_settled_with_the_answer_and_not_run_again() {
    let headers = "X-From: provider\r\nConnection: X-Hop\r\nX-Hop: 1\r\n";
    let provider = Upstream::answering(reply("201 Created", headers, "{\"id\":7}")).await;
    let upstream = dying().await;
    let gateway = undecided(&upstream, &provider).await;
    for _ in 0..2 {
        let response = gateway.post("/pay", "k/1", "{}").await;
        assert_eq!((response.status(), response.is_replay()), (201, true));
        assert_eq!(response.text(), "{\"id\":7}");
        assert_eq!(response.header("x-from"), Some("provider"));
        assert_eq!(response.header("x-hop"), None);
    }
    assert_eq!(upstream.effects(), 1);
    let fence = upstream.only().header("semel-fence").unwrap().to_owned();
    let asked = format!("GET /status?key=k%2F1&fence={fence}&t=public&s=POST%20%2Fpay%401");
    assert_eq!(provider.only().target(), asked);
}

#[tokio::test]
async fn what_the_route_redacts_is_taken_out_of_the_providers_answer_too() {
    let body = "{\"card\":\"4111\",\"id\":7}";
    let provider = Upstream::answering(reply("200 OK", "X-Secret: 4111\r\n", body)).await;
    let upstream = dying().await;
    let mut config = asking(&upstream, &provider);
    let stored = &mut config.routes[0].rules.stored;
    stored.without = vec!["$.card".parse().unwrap()];
    stored.without_headers = vec!["x-secret".parse().unwrap()];
    let gateway = start(config);
    let first = gateway.post("/pay", "k/1", "{}").await;
    assert_eq!(first.problem(), (502, "upstream-failed".to_owned()));
    let replay = gateway.post("/pay", "k/1", "{}").await;
    assert_eq!((replay.status(), replay.is_replay()), (200, true));
    assert_eq!(replay.text(), body.replace("4111", "[redacted]"));
    assert_eq!(replay.header("x-secret"), None);
    assert_eq!(replay.header("semel-redacted"), Some("body, headers"));
    let identity = record(&gateway).await.identity;
    let record = gateway.store.look_up_one(identity).await.unwrap().unwrap();
    let semel_core::State::Settled(settled) = &record.state else {
        panic!("it is settled: {record:?}");
    };
    let kept = String::from_utf8_lossy(settled.outcome.body.kept().unwrap());
    assert!(!kept.contains("4111"), "{kept}");
    let has_secret = |(_, value): (&str, &bytes::Bytes)| value.as_ref() == b"4111";
    assert!(!settled.outcome.headers.iter().any(has_secret));
}

#[tokio::test]
async fn what_did_not_happen_is_run_again() {
    for status in ["404 Not Found", "410 Gone"] {
        let provider = Upstream::answering(reply(status, "", "")).await;
        let upstream = dying().await;
        let gateway = undecided(&upstream, &provider).await;
        let response = gateway.post("/pay", "k/1", "{}").await;
        assert_eq!((response.status(), response.is_replay()), (200, false));
        assert_eq!(upstream.seen()[1].header("semel-attempt"), Some("2"));
        assert!(gateway.post("/pay", "k/1", "{}").await.is_replay());
        assert_eq!((upstream.effects(), provider.effects()), (2, 1));
    }
}

/// A gateway whose upstream dies, and which asks at `path` below `provider`.
async fn asked_at(provider: &Upstream, path: &str, key: &str) -> (Running, Upstream) {
    let upstream = dying().await;
    let mut config = guarding(upstream.url(), |_rules| {});
    let url = format!("{}{path}", provider.url());
    let url = url.parse::<semel_gateway::ReconcileUrl>().unwrap();
    let (name, value) = (
        http::header::AUTHORIZATION,
        "Bearer hunter2".parse().unwrap(),
    );
    config.routes[0].reconcile = Some(url.with_header(name, value));
    let gateway = start(config);
    let first = gateway.post("/pay", key, "{}").await;
    assert_eq!(first.problem(), (502, "upstream-failed".to_owned()));
    (gateway, upstream)
}

#[tokio::test]
async fn a_key_that_would_make_another_path_of_the_url_is_not_asked_about() {
    let provider = Upstream::answering(reply("200 OK", "", "the list of all")).await;
    for key in [".", "..", "..;v=1", "%2e%2e", "a/../.."] {
        let (gateway, upstream) = asked_at(&provider, "/ops/{key}", key).await;
        let response = gateway.post("/pay", key, "{}").await;
        let expected = (409, "outcome-unknown".to_owned());
        assert_eq!(response.problem(), expected, "{key}");
        assert_eq!(upstream.effects(), 1);
    }
    assert_eq!(provider.effects(), 0);
}

#[tokio::test]
async fn the_question_carries_the_credentials_of_the_route() {
    let provider = Upstream::answering(reply("200 OK", "", "{}")).await;
    let (gateway, _upstream) = asked_at(&provider, "/ops/{key}", "k").await;
    assert!(gateway.post("/pay", "k", "{}").await.is_replay());
    let asked = provider.only();
    assert_eq!(asked.target(), "GET /ops/k");
    assert_eq!(asked.header("authorization"), Some("Bearer hunter2"));
}

#[tokio::test]
async fn whoever_cannot_tell_leaves_it_unknown() {
    let silent = Upstream::start(|_request, mut peer| async move {
        peer.rest().await;
        None
    })
    .await;
    let broken = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nhalf",
    );
    for provider in [
        Upstream::answering(reply("500 Oops", "", "")).await,
        Upstream::answering(reply("302 Found", "Location: /x\r\n", "")).await,
        Upstream::answering("nonsense").await,
        silent,
        broken.await,
    ] {
        let upstream = dying().await;
        let gateway = undecided(&upstream, &provider).await;
        let response = gateway.post("/pay", "k/1", "{}").await;
        assert_eq!(response.problem(), (409, "outcome-unknown".to_owned()));
        assert_eq!(upstream.effects(), 1);
    }
}

/// The record of the only operation.
async fn record(gateway: &Running) -> semel_core::Record {
    let page = gateway
        .store
        .list(semel_core::store::Query::default())
        .await;
    page.unwrap().records.remove(0)
}

#[tokio::test]
async fn operators_ask_the_url_of_the_records_route_and_nothing_is_written() {
    let provider = Upstream::answering(reply("200 OK", "", "{\"id\":7}")).await;
    let (gateway, upstream) = asked_at(&provider, "/ops/{key}", "k").await;
    let record = record(&gateway).await;
    let reconciler = gateway.handle.reconciler(&record).unwrap();
    let url = format!("{}/ops/{{key}}", provider.url());
    assert_eq!(reconciler.url().to_string(), url);
    let claim = semel_core::Claim {
        identity: record.identity.clone(),
        fence: record.fence,
    };
    let answer = reconciler.ask(&claim).await.unwrap();
    let semel_core::once::Reconciled::Happened(outcome) = answer else {
        panic!("it happened: {answer:?}");
    };
    assert_eq!(outcome.status, 200);
    let asked = provider.only();
    assert_eq!(asked.target(), "GET /ops/k");
    assert_eq!(asked.header("authorization"), Some("Bearer hunter2"));
    let found = gateway.store.look_up_one(record.identity.clone()).await;
    assert_eq!(found.unwrap().unwrap().state.name(), "unknown");
    assert_eq!(upstream.effects(), 1);
    assert_eq!(reconciler.retention(), semel_core::Retention::default());
}

#[tokio::test]
async fn why_a_provider_cannot_tell_is_said() {
    let provider = Upstream::answering(reply("500 Oops", "", "")).await;
    let (gateway, _upstream) = asked_at(&provider, "/ops/{key}", "k").await;
    let record = record(&gateway).await;
    let reconciler = gateway.handle.reconciler(&record).unwrap();
    let claim = semel_core::Claim {
        identity: record.identity,
        fence: record.fence,
    };
    let why = reconciler.ask(&claim).await.unwrap_err();
    assert_eq!(why, "it answered 500 Internal Server Error");
}

#[tokio::test]
async fn no_url_is_asked_where_routes_disagree_or_have_none() {
    let provider = Upstream::answering(reply("200 OK", "", "{}")).await;
    let (gateway, upstream) = asked_at(&provider, "/ops/{key}", "k").await;
    let mut record = record(&gateway).await;
    let mut config = asking(&upstream, &provider);
    let route = config.routes[0].clone();
    // The same question by another path, then another question, then none; by another method it is not meant.
    let mut other = route.clone();
    other.path = "/pay-again".to_owned();
    let mut patch = other.clone();
    (patch.methods, patch.reconcile) = (vec![http::Method::PATCH], None);
    let mut ask = |others: Vec<semel_gateway::Route>| {
        config.routes = [vec![route.clone()], others].concat();
        gateway.handle.reload(&config).unwrap();
        gateway
            .handle
            .reconciler(&record)
            .map(|found| found.url().to_string())
    };
    assert!(ask(vec![other.clone(), patch]).is_ok());
    other.rules.retention = semel_core::Retention::delete_after(Duration::from_secs(1)).unwrap();
    assert_eq!(ask(vec![other.clone()]), Err(NoReconciler::Ambiguous));
    other.reconcile = None;
    assert_eq!(ask(vec![other]), Err(NoReconciler::Ambiguous));
    config.routes = vec![route.clone()];
    config.routes[0].reconcile = None;
    gateway.handle.reload(&config).unwrap();
    assert_eq!(
        gateway.handle.reconciler(&record).err(),
        Some(NoReconciler::NoUrl)
    );
    let (tenant, key) = (
        record.identity.tenant().as_str(),
        record.identity.key().as_str(),
    );
    record.identity = semel_core::Identity::parse(tenant, "elsewhere@1", key).unwrap();
    assert_eq!(
        gateway.handle.reconciler(&record).err(),
        Some(NoReconciler::NoRoute)
    );
    assert_eq!(provider.effects(), 0);
}

#[tokio::test]
async fn a_tools_call_is_asked_about_by_the_route_of_the_tools() {
    let provider = Upstream::answering(reply("200 OK", "", "{}")).await;
    let (gateway, upstream) = asked_at(&provider, "/ops/{key}", "k").await;
    let mut record = record(&gateway).await;
    let mut config = asking(&upstream, &provider);
    config.routes[0].rules.scope = "mcp@1".parse().unwrap();
    record.identity = semel_core::Identity::parse("public", "mcp:pay@1", "k").unwrap();
    gateway.handle.reload(&config).unwrap();
    let found = gateway.handle.reconciler(&record);
    assert_eq!(found.err(), Some(NoReconciler::NoRoute));
    semel_http::mcp::Mcp::default().apply(&mut config.routes[0].rules);
    gateway.handle.reload(&config).unwrap();
    assert!(gateway.handle.reconciler(&record).is_ok());
}
