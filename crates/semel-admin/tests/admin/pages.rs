//! The pages of keys, unknown outcomes and the audit: what they show, and what their forms do.

use std::time::Duration;

use semel_core::record::UnknownCause;
use semel_core::store::{ClaimAnswer, ClaimRequest, MarkRequest};
use semel_core::{About, Evidence, Fingerprint, Identity, StoreExt};
use serde_json::{Value, json};

use crate::http::{Response, raw};
use crate::server::{Server, about, query};
use crate::tokens::{each_role, secret, serve};

/// A browser: it keeps the cookie of its visit and sends the token of the page's forms.
struct Browser<'a> {
    server: &'a Server,
    /// The name of the token that it shows, if the door asks for one.
    bearer: Option<&'static str>,
    cookie: String,
}

impl<'a> Browser<'a> {
    async fn open(server: &'a Server, bearer: Option<&'static str>) -> Self {
        let mut browser = Self {
            server,
            bearer,
            cookie: String::new(),
        };
        let first = browser.get("/keys").await;
        let cookie = first.header("set-cookie").unwrap();
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    /// The same visit with another token.
    fn with(&self, bearer: &'static str) -> Self {
        Self {
            server: self.server,
            bearer: Some(bearer),
            cookie: self.cookie.clone(),
        }
    }

    fn headers(&self) -> String {
        let bearer = self.bearer.map(|name| {
            let secret = secret(name);
            format!("Authorization: Bearer {secret}\r\n")
        });
        format!(
            "Host: localhost\r\nAccept: text/html\r\nCookie: {}\r\n{}",
            self.cookie,
            bearer.unwrap_or_default()
        )
    }

    async fn get(&self, path: &str) -> Response {
        let headers = self.headers();
        let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        raw(self.server.address, request.as_bytes()).await
    }

    /// The text of a page that is there.
    async fn page(&self, path: &str) -> String {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        page.body
    }

    /// The token of the visit's forms.
    async fn token(&self) -> String {
        let page = self.page("/unknown").await;
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    async fn post(&self, path: &str, token: &str, fields: &[(&str, &str)]) -> Response {
        let mut fields = fields.to_vec();
        fields.push(("form_token", token));
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let (body, headers) = (body.join("&"), self.headers());
        let request = format!(
            "POST {path} HTTP/1.1\r\nConnection: close\r\n{headers}Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        raw(self.server.address, request.as_bytes()).await
    }

    /// Looks first, then does it; gives the page that was shown in between.
    async fn decide(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let token = self.token().await;
        let shown = self.post(path, &token, fields).await;
        assert_eq!(shown.status, 200, "{shown:?}");
        let mut confirmed = fields.to_vec();
        confirmed.push(("confirm", "yes"));
        let done = self.post(path, &token, &confirmed).await;
        assert_eq!(done.status, 303, "{done:?}");
        shown.body
    }
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

impl Server {
    async fn unknown_outcome(&self, key: &str) -> String {
        self.wait(1);
        let fence = self.fence(key).await;
        let mark = about(key, json!({ "fence": fence }));
        assert_eq!(self.post("/api/v1/claims/unknown", mark).await.status, 200);
        fence.to_string()
    }

    async fn settled_with(&self, key: &str, body: &str) -> String {
        let fence = self.fence(key).await;
        let settle = json!({ "fence": fence, "verdict": "succeeded", "status": 201, "body": body });
        let settled = self.post("/api/v1/claims/settle", about(key, settle)).await;
        assert_eq!(settled.status, 200, "{settled:?}");
        fence.to_string()
    }

    async fn one(&self, key: &str) -> Value {
        let path = format!("/api/v1/records/one?{}&body=true", query(key));
        self.get(&path).await.json()
    }

    async fn audited(&self) -> Vec<Value> {
        let audit = self.get("/api/v1/audit").await.json();
        audit["audit"].as_array().unwrap().clone()
    }
}

/// The fields that name a claim of acme's payments, with others.
fn of<'a>(key: &'a str, fence: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let about = [
        ("tenant", "acme"),
        ("scope", "payments@1"),
        ("key", key),
        ("fence", fence),
        ("by", "ada"),
        ("reason", "INC-7"),
    ];
    about.into_iter().chain(more.iter().copied()).collect()
}

fn address(key: &str) -> String {
    format!("/keys/one?{}", query(key))
}

#[tokio::test]
async fn a_key_alone_is_found_and_its_page_tells_its_whole_story() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    assert!(
        browser
            .page("/keys")
            .await
            .contains("There are no records yet")
    );
    let fence = server.unknown_outcome("order-17").await;
    server.settled_with("order-18", "<b>paid</b>").await;
    let found = browser.page("/keys?key=order-17").await;
    assert!(found.contains(">order-17</a>"), "{found}");
    assert!(!found.contains("order-18"), "{found}");
    let fields = of("order-17", &fence, &[("how", "release")]);
    browser.decide("/keys/one", &fields).await;
    // It is absent now, and its history is found by the key alone.
    let found = browser.page("/keys?key=order-17").await;
    assert!(found.contains("Absent now, with a history"), "{found}");
    let story = browser.page(&address("order-17")).await;
    for part in [
        "became unknown",
        "resolved by no-token:ada (INC-7): it did not happen",
        "the next request runs",
    ] {
        assert!(story.contains(part), "{part}: {story}");
    }
    assert!(
        browser
            .page("/keys?key=order-99")
            .await
            .contains("No record matches")
    );
}

#[tokio::test]
async fn contents_are_shown_only_to_those_who_ask_and_as_text() {
    let server = Server::start().await;
    server.settled_with("k", "<script>alert(1)</script>").await;
    let browser = Browser::open(&server, None).await;
    let page = browser.page(&address("k")).await;
    assert!(!page.contains("alert(1)"), "{page}");
    assert!(page.contains("Show headers and body"), "{page}");
    let page = browser
        .page(&format!("{}&contents=true", address("k")))
        .await;
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "{page}"
    );
}

#[tokio::test]
async fn an_unknown_outcome_is_resolved_once_it_was_said_what_clients_get() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let fence = server.unknown_outcome("k").await;
    assert!(browser.page("/unknown").await.contains(">k</a>"));
    let outcome = [
        ("how", "settle"),
        ("verdict", "succeeded"),
        ("status", "201"),
        ("body", "paid"),
    ];
    let token = browser.token().await;
    let shown = browser
        .post("/keys/one", &token, &of("k", &fence, &outcome))
        .await;
    assert!(
        shown.body.contains("Duplicates get 201 with a body of 4 B"),
        "{shown:?}"
    );
    assert_eq!(
        server.one("k").await["record"]["state"],
        "unknown",
        "a look changes nothing"
    );
    browser
        .decide("/keys/one", &of("k", &fence, &outcome))
        .await;
    let one = server.one("k").await;
    assert_eq!(one["outcome"]["body"]["text"], "paid");
    assert_eq!(one["record"]["settled"]["resolved"], true);
    let line = &server.audited().await[0];
    assert_eq!(
        (&line["by"], &line["reason"]),
        (&json!("no-token:ada"), &json!("INC-7"))
    );
    // What a person decided is corrected, then purged.
    let correct = [("how", "correct"), ("verdict", "failed"), ("status", "402")];
    browser
        .decide("/keys/one", &of("k", &fence, &correct))
        .await;
    assert_eq!(server.one("k").await["outcome"]["status"], 402);
    let shown = browser
        .decide("/keys/one", &of("k", &fence, &[("how", "purge")]))
        .await;
    assert!(
        shown.contains("The next request with this key runs"),
        "{shown}"
    );
    assert_eq!(server.claim("k").await.status, 201);
    let again = of("k", &fence, &[("how", "purge"), ("confirm", "yes")]);
    assert_eq!(browser.post("/keys/one", &token, &again).await.status, 409);
}

#[tokio::test]
async fn no_decision_is_taken_without_a_reason() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let (unknown, settled) = (
        server.unknown_outcome("k").await,
        server.settled_with("s", "paid").await,
    );
    let token = browser.token().await;
    for (key, fence, how) in [
        ("k", &unknown, "release"),
        ("k", &unknown, "settle"),
        ("s", &settled, "erase"),
        ("s", &settled, "purge"),
    ] {
        for reason in ["", "  "] {
            let mut fields = of(
                key,
                fence,
                &[("how", how), ("verdict", "succeeded"), ("confirm", "yes")],
            );
            fields.retain(|(name, _)| *name != "reason");
            fields.push(("reason", reason));
            let refused = browser.post("/keys/one", &token, &fields).await;
            assert_eq!(refused.status, 400, "{how}: {refused:?}");
            let why = "reason: expected why you decide this, for the audit";
            assert!(refused.body.contains(why), "{how}: {refused:?}");
        }
    }
    assert_eq!(server.one("k").await["record"]["state"], "unknown");
    assert_eq!(server.one("s").await["outcome"]["body"]["text"], "paid");
    assert!(server.audited().await.is_empty());
    let page = browser.page(&address("k")).await;
    assert!(
        page.contains("name=\"reason\" maxlength=\"341\" required"),
        "{page}"
    );
}

#[tokio::test]
async fn old_unknown_outcomes_are_found_behind_young_ones_and_an_empty_list_says_why() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let empty = browser.page("/unknown").await;
    assert!(empty.contains("There is nothing to decide"), "{empty}");
    server.unknown_outcome("old").await;
    server.wait(3_600);
    for number in 0..101 {
        server.unknown_outcome(&format!("young-{number}")).await;
    }
    let found = browser.page("/unknown?older_than=30m").await;
    assert!(found.contains(">old</a>"), "{found}");
    assert!(!found.contains(">young-0</a>"), "{found}");
    for filter in ["older_than=30d", "key=order-99", "scope=refunds"] {
        let none = browser.page(&format!("/unknown?{filter}")).await;
        assert!(none.contains("No unknown outcome matches"), "{none}");
        assert!(!none.contains("nothing to decide"), "{none}");
    }
}

#[tokio::test]
async fn an_archived_record_shows_its_outcome_and_is_erased() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let fence = server.fence("k").await;
    let settle = json!({ "fence": fence, "verdict": "succeeded", "status": 201, "body": "paid", "retention": "1h", "archive": true });
    let settled = server
        .post("/api/v1/claims/settle", about("k", settle))
        .await;
    assert_eq!(settled.status, 200, "{settled:?}");
    server.wait(2 * 3_600);
    let swept = server.store.sweep(100).await.unwrap();
    assert_eq!(swept.archived, 1);
    let page = browser.page(&address("k")).await;
    for part in [
        "the next request runs",
        "In the archive",
        "succeeded, status 201, 4 B",
        "Erase its contents",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let fence = fence.to_string();
    let erase = of("k", &fence, &[("how", "erase")]);
    browser.decide("/keys/one", &erase).await;
    let page = browser.page(&address("k")).await;
    assert!(
        page.contains("contents erased by no-token:ada") && !page.contains("Erase its contents"),
        "{page}"
    );
}

#[tokio::test]
async fn the_overview_counts_what_stands_now_scope_by_scope() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    server.unknown_outcome("a").await;
    server.fence("b").await;
    server.fence("c").await;
    let page = browser.page("/").await;
    let (_, row) = page.split_once(">payments@1</strong>").unwrap();
    let row = row.split("</tr>").next().unwrap();
    for cell in [
        "data-column=\"Running now\">2<",
        "data-column=\"Unknown now\">1<",
    ] {
        assert!(row.contains(cell), "{cell}: {row}");
    }
}

#[tokio::test]
async fn the_queue_says_what_was_asked_and_what_the_service_answered() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let identity = Identity::parse("acme", "payments@1", "k").unwrap();
    let mut ask = ClaimRequest::new(identity, Fingerprint::none());
    ask.about = About::new("POST /payments");
    let ClaimAnswer::Granted(lease) = server.store.claim_one(ask).await.unwrap() else {
        panic!("it is granted");
    };
    let after = Duration::from_millis(401);
    let mark = MarkRequest {
        claim: lease.claim,
        cause: UnknownCause::RunUndecided,
        evidence: Some(Evidence::new(Some(502), Some("connection reset"), after)),
    };
    server.store.mark_one(mark).await.unwrap();
    let page = browser.page("/unknown?method=POST").await;
    for part in [
        ">POST /payments<",
        "502 from the upstream: connection reset",
        "401ms",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn a_late_outcome_is_adopted() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let fence = server.fence("k").await;
    server.wait(3_600);
    let settle = json!({ "fence": fence, "verdict": "succeeded", "status": 201, "body": "late" });
    server
        .post("/api/v1/claims/settle", about("k", settle))
        .await;
    let fence = fence.to_string();
    let page = browser.page(&address("k")).await;
    assert!(page.contains("Adopt the late outcome of fence 1"), "{page}");
    let adopt = [("how", "adopt"), ("late", fence.as_str())];
    browser.decide("/keys/one", &of("k", &fence, &adopt)).await;
    assert_eq!(server.one("k").await["outcome"]["body"]["text"], "late");
}

#[tokio::test]
async fn every_form_of_a_page_has_an_id_of_its_own() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let fence = server.fence("k").await;
    server.wait(3_600);
    for body in ["late", "later"] {
        let settle = json!({ "fence": fence, "verdict": "succeeded", "status": 201, "body": body });
        server
            .post("/api/v1/claims/settle", about("k", settle))
            .await;
    }
    let page = browser.page(&address("k")).await;
    let ids = page.split("<details id=\"").skip(1);
    let ids: Vec<_> = ids.map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(page.matches("Adopt the late outcome").count(), 2, "{page}");
    let each: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(each.len(), ids.len(), "{ids:?}");
}

#[tokio::test]
async fn a_body_that_is_typed_has_the_line_ends_of_a_text() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let fence = server.unknown_outcome("k").await;
    let outcome = [
        ("how", "settle"),
        ("verdict", "succeeded"),
        ("body", "a\r\nb\r\n"),
    ];
    let shown = browser
        .decide("/keys/one", &of("k", &fence, &outcome))
        .await;
    assert!(shown.contains("with a body of 4 B"), "{shown}");
    assert_eq!(server.one("k").await["outcome"]["body"]["text"], "a\nb\n");
    // The same for many.
    server.unknown_outcome("m").await;
    let many: Vec<_> = [("by", "ada"), ("reason", "INC-7")]
        .into_iter()
        .chain(outcome)
        .collect();
    browser.decide("/unknown", &many).await;
    assert_eq!(server.one("m").await["outcome"]["body"]["text"], "a\nb\n");
}

#[tokio::test]
async fn contents_are_erased_and_the_record_goes_on_suppressing() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    let fence = server.settled_with("k", "SECRET").await;
    let erase = of("k", &fence, &[("how", "erase")]);
    let shown = browser.decide("/keys/one", &erase).await;
    assert!(
        shown.contains("Duplicates get the status and no body"),
        "{shown}"
    );
    let page = browser
        .page(&format!("{}&contents=true", address("k")))
        .await;
    assert!(
        !page.contains("SECRET") && page.contains("contents erased by no-token:ada"),
        "{page}"
    );
    assert_eq!(server.claim("k").await.status, 200);
    server.settled_with("b", "SECRET").await;
    server.wait(1);
    let many = [
        ("how", "erase"),
        ("tenant", "acme"),
        ("by", "ada"),
        ("reason", "asked to"),
    ];
    let shown = browser.decide("/keys", &many).await;
    assert!(
        shown.contains("Erase the contents of 1 records?"),
        "{shown}"
    );
    assert!(!server.one("b").await.to_string().contains("SECRET"));
    assert_eq!(server.audited().await.len(), 2);
}

#[tokio::test]
async fn many_unknown_outcomes_are_decided_as_was_shown() {
    let server = Server::start().await;
    let browser = Browser::open(&server, None).await;
    for key in ["a", "b", "c"] {
        server.unknown_outcome(key).await;
    }
    let fields = [
        ("how", "release"),
        ("older_than", "1s"),
        ("by", "ada"),
        ("reason", "INC-7"),
    ];
    let token = browser.token().await;
    let shown = browser.post("/unknown", &token, &fields).await.body;
    assert!(shown.contains("Release 2 records?"), "{shown}");
    // The second form names the moment of the first.
    let (_, rest) = shown.split_once("name=\"older_than\" value=\"").unwrap();
    let until = rest.split('"').next().unwrap().to_owned();
    server.unknown_outcome("later").await;
    let confirmed = [
        ("how", "release"),
        ("older_than", until.as_str()),
        ("by", "ada"),
        ("reason", "INC-7"),
        ("confirm", "yes"),
    ];
    assert_eq!(
        browser.post("/unknown", &token, &confirmed).await.status,
        303
    );
    let left = browser.page("/unknown").await;
    for (key, is_left) in [("a", false), ("b", false), ("c", true), ("later", true)] {
        assert_eq!(
            left.contains(&format!(">{key}</a>")),
            is_left,
            "{key}: {left}"
        );
    }
    let reasonless = [("how", "release"), ("by", "ada")];
    assert_eq!(
        browser.post("/unknown", &token, &reasonless).await.status,
        400
    );
    let audit = browser.page("/audit?by=ada&action=release").await;
    assert_eq!(audit.matches("INC-7").count(), 2, "{audit}");
    assert!(!browser.page("/audit?by=bob").await.contains("INC-7"));
    assert!(!browser.page("/audit?about=key%20c").await.contains("INC-7"));
    assert!(
        browser
            .page("/audit?since=1h&scope=payments")
            .await
            .contains("INC-7")
    );
}

#[tokio::test]
async fn decisions_need_their_role_and_the_forms_token_or_nothing_changes() {
    let server = serve(each_role()).await;
    let boss = Browser::open(&server, Some("boss")).await;
    let claims = |path: &'static str, body| server.call("claims", path, body);
    let granted = claims("/api/v1/claims", about("k", json!({}))).await;
    let fence = granted.json()["fence"].to_string();
    let mark = about("k", json!({ "fence": granted.json()["fence"] }));
    claims("/api/v1/claims/unknown", mark).await;
    let token = boss.token().await;
    let release = [("how", "release"), ("confirm", "yes")];
    let release = of("k", &fence, &release);
    let reader = boss.with("read");
    let operator = boss.with("operate");
    assert_eq!(reader.post("/keys/one", &token, &release).await.status, 403);
    assert_eq!(boss.post("/keys/one", "00", &release).await.status, 403);
    let many = [("how", "release"), ("reason", "x"), ("confirm", "yes")];
    assert_eq!(reader.post("/unknown", &token, &many).await.status, 403);
    let erase = [
        ("how", "erase"),
        ("tenant", "acme"),
        ("reason", "x"),
        ("confirm", "yes"),
    ];
    assert_eq!(operator.post("/keys", &token, &erase).await.status, 403);
    let purge = of("k", &fence, &[("how", "purge"), ("confirm", "yes")]);
    assert_eq!(operator.post("/keys/one", &token, &purge).await.status, 403);
    // A reader sees everything and is shown no form.
    let page = reader.page(&address("k")).await;
    assert!(
        page.contains("unknown") && !page.contains("form_token"),
        "{page}"
    );
    assert!(!reader.page("/unknown").await.contains("Decide about all"));
    let done = operator.post("/keys/one", &token, &release).await;
    assert_eq!(done.status, 303, "{done:?}");
    let audit = reader.page("/audit").await;
    assert!(audit.contains("operate/ada"), "{audit}");
}
