//! What came again: in the API, in the series and on the page, with the claims API as the door and a clock that the test moves.

use serde_json::{Value, json};

use crate::metrics::assert_has;
use crate::server::{Server, about};

const HOUR: u64 = 3_600;

async fn settled(server: &Server, key: &str) {
    let fence = server.fence(key).await;
    let settle = about(key, json!({ "fence": fence, "verdict": "succeeded" }));
    let answer = server.post("/api/v1/claims/settle", settle).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

async fn duplicates(server: &Server) -> Vec<Value> {
    let answer = server.get("/api/v1/duplicates").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["scopes"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_came_again_shows_by_origin_and_age_and_nothing_before() {
    let server = Server::start().await;
    let page = server.get("/duplicates").await;
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("Nothing has come again yet."));
    settled(&server, "secret-key").await;
    assert_eq!(duplicates(&server).await, Vec::<Value>::new());
    server.fence("running").await;
    assert_eq!(server.claim("running").await.status, 409);
    server.wait(HOUR);
    for _ in 0..2 {
        assert_eq!(server.claim("secret-key").await.status, 200);
    }
    let rows = duplicates(&server).await;
    let [row] = &rows[..] else {
        panic!("expected one scope, found {rows:?}");
    };
    assert_eq!(row["scope"], "payments@1");
    assert_eq!(row["suppressed"], 3);
    assert_eq!(row["origins"]["client-retry"], 2);
    assert_eq!(row["origins"]["concurrent-retry"], 1);
    let ages = row["ages"].as_array().unwrap();
    let some: Vec<_> = ages.iter().filter(|age| age["count"] != 0).collect();
    assert_eq!(some, [&json!({ "up_to_ms": HOUR * 1_000, "count": 2 })]);
    let advice = &row["retention"];
    assert_eq!(advice["rests_on"], 2);
    assert_eq!(advice["needed_ms"], HOUR * 1_000);
    assert_eq!(advice["verdict"], "too-few");
    let metrics = server.get("/metrics").await.body;
    assert_has(
        &metrics,
        &[
            "semel_duplicates_by_origin_total{scope=\"payments@1\",origin=\"client-retry\"} 2",
            "semel_duplicates_by_origin_total{scope=\"payments@1\",origin=\"concurrent-retry\"} 1",
            "semel_duplicate_age_seconds_bucket{le=\"1800.0\",scope=\"payments@1\"} 0",
            "semel_duplicate_age_seconds_bucket{le=\"3600.0\",scope=\"payments@1\"} 2",
        ],
    );
    let page = server.get("/duplicates").await.body;
    for shown in ["payments@1", "<svg", "up to 1h: 2", "too-few"] {
        assert!(page.contains(shown), "{shown} is not in\n{page}");
    }
    assert!(!page.contains("secret-key"), "{page}");
}

#[tokio::test]
async fn duplicates_up_to_the_end_of_retention_say_that_there_may_be_later_ones() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let settle = json!({ "fence": fence, "verdict": "succeeded", "retention": "2h" });
    let answer = server
        .post("/api/v1/claims/settle", about("k", settle))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    server.wait(2 * HOUR - 60);
    for _ in 0..3 {
        assert_eq!(server.claim("k").await.status, 200);
    }
    let rows = duplicates(&server).await;
    let advice = &rows[0]["retention"];
    assert_eq!(rows[0]["retention_ms"], 2 * HOUR * 1_000);
    assert_eq!(advice["verdict"], "raise");
    assert_eq!(advice["at_least"], true);
    assert_eq!(advice["raise_to_ms"], 4 * HOUR * 1_000);
    let page = server.get("/duplicates").await.body;
    assert!(page.contains("raise the retention to 4h"), "{page}");
}
