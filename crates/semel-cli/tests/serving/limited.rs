//! Limits of tenants in the process that serves: at the gateway, at the claims API and where messages are posted. The limits refill in hours, so
//! that no clock matters.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::handler::Handler;
use crate::support::{Answer, Semel, Shop, ask, field};

/// A file with these limits of tenants, in which each door takes the tenant from a header.
fn write(dir: &Path, shop: &Shop, handler: &Handler, limits: &str) {
    let file = format!(
        "admin: {{ listen: 127.0.0.1:0 }}\n\
         inbox: {{ listen: 127.0.0.1:0 }}\n\
         limits:\n\
         {limits}\
         gateway:\n\
         \x20 listen: 127.0.0.1:0\n\
         \x20 upstream: {}\n\
         \x20 routes:\n\
         \x20   - match: {{ methods: [POST], path: /pay }}\n\
         \x20     tenant: {{ header: X-Tenant }}\n\
         consumers:\n\
         \x20 mailer:\n\
         \x20   source: http\n\
         \x20   tenant: {{ header: X-Tenant }}\n\
         \x20   deliver: http://{}/mail\n",
        shop.url(),
        handler.addr,
    );
    fs::write(dir.join("semel.yaml"), file).unwrap();
}

fn start(dir: &Path) -> Semel {
    let mut semel = Semel::spawn_with(dir, &["serve", "--config", "semel.yaml"], &[]);
    semel.find_admin();
    semel.find_inbox();
    semel.find_gateway();
    semel
}

/// A tenant that asks at every door.
struct Tenant<'a>(&'a Semel, &'static str);

impl Tenant<'_> {
    fn post(&self, address: SocketAddr, path: &str, key: &str, body: &str) -> Answer {
        let headers = [("X-Tenant", self.1), ("Idempotency-Key", key)];
        ask(address, "POST", path, &headers, body).unwrap()
    }

    fn pay(&self, key: &str) -> Answer {
        self.post(self.0.gateway, "/pay", key, "{}")
    }

    fn send(&self, id: &str, body: &str) -> Answer {
        self.post(self.0.inbox, "/inbox/mailer", id, body)
    }

    fn claims(&self, verb: &str, key: &str, more: &str) -> Answer {
        let body = format!(
            r#"{{"tenant":"{}","scope":"jobs","key":"{key}"{more}}}"#,
            self.1
        );
        let json = [("Content-Type", "application/json")];
        let path = format!("/api/v1/claims{verb}");
        ask(self.0.admin, "POST", &path, &json, &body).unwrap()
    }

    /// The keys that are stored of it: records and messages.
    fn stored(&self) -> String {
        let tenant = self.1;
        let records = self.0.get(&format!("/api/v1/records?tenant={tenant}"));
        let messages = self.0.get(&format!("/api/v1/inbox?tenant={tenant}"));
        assert_eq!((records.status, messages.status), (200, 200));
        records.body + &messages.body
    }
}

/// That it is refused by this limit, with nothing run.
fn is_over(answer: &Answer, problem: &str, limit: &str) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let kind = format!("urn:semel:problem:{problem}");
    assert_eq!(
        (&body["type"], &body["limit"]),
        (&kind.into(), &limit.into())
    );
    assert_eq!(body["ran"], "no");
    let wait: u64 = field(&answer.head, "retry-after").unwrap().parse().unwrap();
    assert!(wait > 0, "{answer:?}");
}

#[test]
fn requests_over_the_limit_are_refused_at_every_door_until_a_reload_allows_more() {
    let (shop, handler) = (Shop::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    let limit = |requests: u32| {
        let limits = format!("\x20 tenant: {{ requests: {requests}/h }}\n");
        write(dir.path(), &shop, &handler, &limits);
    };
    limit(3);
    let server = start(dir.path());
    let (ann, bob) = (Tenant(&server, "ann"), Tenant(&server, "bob"));
    // What one door counts is missing at the others.
    assert_eq!(ann.pay("a").status, 201);
    assert_eq!(ann.send("b", "{}").status, 202);
    handler.next().answer(200);
    assert_eq!(ann.claims("", "c", "").status, 201);
    for refused in [
        ann.pay("excess"),
        ann.send("excess", "{}"),
        ann.claims("", "excess", ""),
    ] {
        is_over(&refused, "rate-limited", "requests");
    }
    assert!(!ann.stored().contains("excess"));
    assert_eq!((shop.effects(), bob.pay("a").status), (1, 201));
    assert_eq!(
        (bob.send("b", "{}").status, bob.claims("", "c", "").status),
        (202, 201)
    );
    handler.next().answer(200);

    // What was used stays used, of a bucket that is larger now.
    limit(3_000);
    server.signal("HUP");
    server.wait_for("the configuration was read again");
    assert_eq!(ann.pay("d").status, 201);
    assert_eq!(ann.send("d", "{}").status, 202);
    handler.next().answer(200);
    assert_eq!(ann.claims("", "e", "").status, 201);
    let metrics = server.metrics_with("semel_limited_total");
    for scope in ["POST /pay@1", "mailer@1", "claims-api@1"] {
        let line = format!(r#"semel_limited_total{{limit="requests",scope="{scope}"}} 1"#);
        assert!(metrics.contains(&line), "{line} is not in {metrics}");
    }
}

#[test]
fn new_keys_and_bytes_over_the_limit_store_nothing_while_known_keys_go_on() {
    let (shop, handler) = (Shop::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    let limits = "\x20 tenant: { new_keys: 1/h, stored_bytes: 1KiB/h }\n\
                  \x20 tenants:\n\
                  \x20   large: { new_keys: 100/h }\n\
                  \x20   free: { new_keys: 100/h, stored_bytes: 1GiB/h }\n";
    write(dir.path(), &shop, &handler, limits);
    let server = start(dir.path());
    let (ann, large) = (Tenant(&server, "ann"), Tenant(&server, "large"));
    assert_eq!(ann.pay("a").status, 201);
    is_over(&ann.pay("excess"), "rate-limited", "new_keys");
    is_over(&ann.send("excess", "{}"), "rate-limited", "new_keys");
    assert!(ann.pay("a").is_replay());
    assert!(!ann.stored().contains("excess"));

    // Bytes that one door has stored are missing at the others.
    let granted = large.claims("", "a", "");
    assert_eq!(granted.status, 201, "{granted:?}");
    let granted: serde_json::Value = serde_json::from_str(&granted.body).unwrap();
    let (fence, body) = (&granted["fence"], "x".repeat(2_000));
    let settle = format!(r#","fence":{fence},"verdict":"succeeded","body":"{body}""#);
    assert_eq!(large.claims("/settle", "a", &settle).status, 200);
    for refused in [
        large.claims("", "excess", ""),
        large.send("excess", "{}"),
        large.pay("excess"),
    ] {
        is_over(&refused, "quota-exceeded", "stored_bytes");
    }
    assert_eq!(large.claims("", "a", "").status, 200);
    assert!(!large.stored().contains("excess"));

    // And the other way round.
    let other = Tenant(&server, "other");
    assert_eq!(other.send("a", &format!("\"{body}\"")).status, 202);
    handler.next().answer(200);
    is_over(
        &other.claims("", "excess", ""),
        "quota-exceeded",
        "stored_bytes",
    );
    assert_eq!(other.send("a", &format!("\"{body}\"")).status, 200);

    let free = Tenant(&server, "free");
    assert_eq!(free.send("a", &body).status, 202);
    handler.next().answer(200);
    assert_eq!(
        (free.pay("a").status, free.claims("", "a", "").status),
        (201, 201)
    );
    assert_eq!(shop.effects(), 2);
}
