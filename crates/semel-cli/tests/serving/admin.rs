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
        r#"semel_requests_total{scope="POST /{*rest}@1",outcome="ran",status="2xx"} 1"#,
        r#"semel_requests_total{scope="POST /{*rest}@1",outcome="replayed",status="2xx"} 1"#,
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
