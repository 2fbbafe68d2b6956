//! The admin side of a gateway.

use crate::support::{Semel, Shop};

#[test]
fn health_metrics_and_records_tell_of_the_gateway() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let args = [
        "gateway",
        "--upstream",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
    ];
    let server = Semel::start(dir.path(), &args);
    assert!(!server.post("/pay", "secret-key").is_replay());
    assert!(server.post("/pay", "secret-key").is_replay());
    assert_eq!(server.get("/healthz").status, 200);
    let ready = server.get("/readyz");
    assert_eq!(ready.status, 200);
    assert!(
        ready.body.contains("gateway") && ready.body.contains("store"),
        "{}",
        ready.body
    );
    let metrics = server.get("/metrics").body;
    for series in [
        r#"semel_requests_total{scope="POST /{*rest}@1",what="ran",status="2xx"} 1"#,
        r#"semel_requests_total{scope="POST /{*rest}@1",what="replayed",status="2xx"} 1"#,
    ] {
        assert!(metrics.contains(series), "{series} is not in {metrics}");
    }
    assert!(!metrics.contains("secret-key"));
    assert!(!server.log().contains("secret-key"));
    let records = server.get("/api/v1/records").body;
    assert!(
        records.contains("secret-key") && records.contains("succeeded"),
        "{records}"
    );
}

#[test]
fn observing_lets_everything_through_and_reports() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let args = [
        "gateway",
        "--upstream",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--observe",
    ];
    let server = Semel::start(dir.path(), &args);
    for _ in 0..3 {
        let answer = server.post("/pay", "k");
        assert_eq!((answer.status, answer.is_replay()), (201, false));
    }
    assert_eq!(shop.effects(), 3);
    // Observations end beside the requests: asked until all three are there.
    let reported = || server.get("/api/v1/observations").body;
    let all = std::iter::repeat_with(reported).take(10_000);
    let done = |body: &String| {
        let number = |name: &str| {
            let report: serde_json::Value = serde_json::from_str(body).unwrap();
            let found = find(&report, name);
            found.unwrap_or(0)
        };
        let repeats = number("observed-duplicate") + number("observed-concurrent");
        (number("observed-first"), repeats) == (1, 2)
    };
    assert!(all.into_iter().any(|body| done(&body)), "{}", reported());
}

/// The number with this name, wherever it is.
fn find(value: &serde_json::Value, name: &str) -> Option<u64> {
    let object = value.as_object()?;
    let own = object.get(name).and_then(serde_json::Value::as_u64);
    own.or_else(|| object.values().find_map(|inner| find(inner, name)))
}
