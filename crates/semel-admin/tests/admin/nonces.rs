//! A caller whose answer was lost asks again, and gets its own claim.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http::{Response, post_bytes};
use crate::server::{Server, about};

async fn claim(server: &Server, more: Value) -> Response {
    server.post("/api/v1/claims", about("k", more)).await
}

#[tokio::test]
async fn the_same_nonce_gets_the_same_claim_while_its_lease_lives() {
    let server = Server::start().await;
    let first = claim(&server, json!({ "nonce": "n-1" })).await;
    assert_eq!(
        (first.status, &first.json()["repeated"]),
        (201, &json!(false))
    );
    server.wait(10);
    let again = claim(&server, json!({ "nonce": "n-1" })).await;
    assert_eq!(
        (again.status, &again.json()["repeated"]),
        (201, &json!(true))
    );
    for same in ["fence", "attempt", "lease_until"] {
        assert_eq!(again.json()[same], first.json()[same], "{same}");
    }
    // What is left of the lease, so that it is renewed in time.
    assert_eq!(again.json()["lease_ms"], 20_000);
    for other in [json!({ "nonce": "n-2" }), json!({})] {
        let refused = claim(&server, other).await;
        assert_eq!(refused.problem(), "in-progress");
    }
    let mistaken = claim(&server, json!({ "nonce": "n-1", "request": 1 })).await;
    assert_eq!(mistaken.problem(), "key-reused");
    server.wait(21);
    let late = claim(&server, json!({ "nonce": "n-1" })).await;
    assert_eq!(late.problem(), "outcome-unknown");
}

#[tokio::test]
async fn after_the_end_a_nonce_means_nothing() {
    let server = Server::start().await;
    let fence = claim(&server, json!({ "nonce": "n" })).await.json()["fence"].clone();
    let settle = about("k", json!({ "fence": fence, "verdict": "succeeded" }));
    assert_eq!(
        server.post("/api/v1/claims/settle", settle).await.status,
        200
    );
    let replayed = claim(&server, json!({ "nonce": "n" })).await;
    assert_eq!(
        (replayed.status, &replayed.json()["state"]),
        (200, &json!("settled"))
    );
    let fence = server.fence("other").await;
    let release = about("other", json!({ "fence": fence }));
    server.post("/api/v1/claims/release", release).await;
    let anew = server
        .post("/api/v1/claims", about("other", json!({ "nonce": "n" })))
        .await;
    assert_eq!(
        (anew.status, &anew.json()["repeated"]),
        (201, &json!(false))
    );
}

#[tokio::test]
async fn a_claim_with_a_nonce_waits_for_its_caller_who_hung_up() {
    let server = Server::start().await;
    let body = about("k", json!({ "nonce": "n" })).to_string();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&post_bytes("/api/v1/claims", &body))
        .await
        .unwrap();
    drop(stream);
    // Whether the call that was cut off was granted or never read, its caller gets one claim, and only one.
    let first = claim(&server, json!({ "nonce": "n" })).await;
    let second = claim(&server, json!({ "nonce": "n" })).await;
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json()["fence"], second.json()["fence"]);
    assert_eq!(second.json()["repeated"], true);
    assert_eq!(claim(&server, json!({})).await.problem(), "in-progress");
}

#[tokio::test]
async fn a_nonce_is_short_and_visible() {
    let server = Server::start().await;
    for bad in ["", "two words", "é", "tab\t", &"x".repeat(65)] {
        let refused = claim(&server, json!({ "nonce": bad })).await;
        assert_eq!(refused.problem(), "invalid-input", "{bad:?}");
        assert_eq!(refused.json()["field"], "nonce", "{bad:?}");
    }
    let longest = claim(&server, json!({ "nonce": "x".repeat(64) })).await;
    assert_eq!(longest.status, 201);
}
