//! Cookies that HTTP/2 cuts into several fields.

use http::HeaderValue;

use crate::support::http2::{Client, request};
use crate::support::{OK, Upstream, guarding, start};

#[tokio::test]
async fn cookies_of_http2_are_one_field_for_an_http1_upstream() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let client = Client::connect(gateway.addr).await;
    for (method, path) in [("GET", "/"), ("POST", "/pay")] {
        let mut asked = request(method, path, "");
        let headers = asked.headers_mut();
        headers.insert("idempotency-key", HeaderValue::from_static("k"));
        for cookie in ["a=1", "b=2; c=3", "d=4"] {
            headers.append("cookie", HeaderValue::from_static(cookie));
        }
        assert_eq!(client.call(asked).await.unwrap().head.status, 200);
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    for message in seen {
        assert_eq!(message.header("cookie"), Some("a=1; b=2; c=3; d=4"));
    }
}
