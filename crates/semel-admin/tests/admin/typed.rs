//! What was typed into a form that is refused is shown once more, to the one who typed it.

use serde_json::json;

use crate::browsing::Browser;
use crate::http::{Response, raw};
use crate::inbox::{failed, filled};
use crate::server::{Server, about, query};
use crate::tokens::{each_role, secret, serve};
use semel_core::inbox::Cause;

const TYPED: &str = "{\r\n  \"to\": \"<ada@example.org>\"\r\n}";
/// The same as a page has it.
const SHOWN: &str = "{\r\n  &quot;to&quot;: &quot;&lt;ada@example.org&gt;&quot;\r\n}</textarea>";

/// An unknown record, and the form that says what came of it.
async fn unknown(server: &Server) -> String {
    let fence = server.fence("k").await;
    let mark = about("k", json!({ "fence": fence }));
    assert_eq!(
        server.post("/api/v1/claims/unknown", mark).await.status,
        200
    );
    format!("/keys/one?{}", query("k"))
}

/// Fills in the first form with this button and posts it.
async fn post(
    browser: &mut Browser,
    (page, button): (&str, &str),
    fields: &[(&str, &str)],
) -> Response {
    let typed = [("body", TYPED), ("by", "ada")];
    let fields: Vec<_> = typed.iter().chain(fields).copied().collect();
    browser.submit(page, button, &fields).await
}

#[tokio::test]
async fn a_refused_form_shows_what_was_typed_and_the_way_back() {
    let server = Server::start().await;
    let address = unknown(&server).await;
    let mut browser = Browser::at(server.address);
    let page = browser.open(&address).await;
    let settle = [("how", "settle"), ("verdict", "succeeded")];
    for (fields, status, shows_reason) in [
        (vec![("reason", " ")], 400, false),
        (
            vec![("reason", "INC-7 \"é\""), ("status", "1000")],
            400,
            true,
        ),
        (
            vec![("reason", "INC-7 \"é\""), ("form_token", "00")],
            403,
            true,
        ),
    ] {
        let fields: Vec<_> = settle.into_iter().chain(fields).collect();
        let form = (page.as_str(), "Look what that does");
        let refused = post(&mut browser, form, &fields).await;
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.body.contains(SHOWN), "{refused:?}");
        let reason = refused.body.contains("INC-7 &quot;é&quot;</textarea>");
        assert_eq!(reason, shows_reason, "{refused:?}");
        let back =
            "href=\"/keys/one?tenant=acme&amp;scope=payments%401&amp;key=k\">Back to the form";
        assert!(refused.body.contains(back), "{refused:?}");
    }
}

#[tokio::test]
async fn a_form_that_comes_after_the_end_of_a_session_shows_what_was_typed_and_where_to_sign_in() {
    let server = serve(each_role()).await;
    let mut browser = Browser::at(server.address);
    let page = browser.open("/sign-in").await;
    let token = secret("operate");
    let signed_in = browser
        .submit(&page, "Sign in", &[("token", token.as_str())])
        .await;
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let page = browser.open("/unknown").await;
    let form = (page.as_str(), "Look what that would resolve");
    server.wait(9 * 3_600);
    let mut browser = browser.saying("Referer: http://localhost/unknown?tenant=acme\r\n");
    let ended = post(&mut browser, form, &[("reason", "INC-7")]).await;
    assert_eq!(ended.status, 401, "{ended:?}");
    assert!(ended.body.contains(SHOWN), "{ended:?}");
    let link = "href=\"/sign-in?next=%2Funknown%3Ftenant%3Dacme\"";
    assert!(ended.body.contains(link), "{ended:?}");
    assert!(!ended.body.contains(&token), "{ended:?}");
    // Those who may not come in are not listened to for long.
    let large = "x".repeat(64 * 1024);
    let ended = post(&mut browser, form, &[("reason", &large)]).await;
    assert_eq!(ended.status, 401);
    assert!(!ended.body.contains("<textarea"), "{ended:?}");
}

#[tokio::test]
async fn a_form_of_another_origin_is_not_shown() {
    let server = Server::start().await;
    let address = unknown(&server).await;
    let mut browser = Browser::at(server.address);
    let page = browser.open(&address).await;
    let form = (page.as_str(), "Look what that does");
    for line in [
        "Origin: http://evil.example\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        let mut foreign = Browser::at(server.address).saying(line);
        let refused = post(&mut foreign, form, &[("reason", "INC-7")]).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(!refused.body.contains("<textarea"), "{refused:?}");
    }
    // Programs get a problem.
    let request = format!(
        "POST {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n\r\nbody=x"
    );
    let refused = raw(server.address, request.as_bytes()).await;
    assert_eq!(refused.problem(), "forbidden");
}

#[tokio::test]
async fn a_payload_that_was_edited_meanwhile_is_not_lost() {
    let server = filled().await;
    let mut browser = Browser::at(server.address);
    let path = "/inbox/one?consumer=mailer%401&id=parked&payload=true";
    let page = browser.open(path).await;
    let fields = [("payload", TYPED), ("reason", "INC-7"), ("by", "ada")];
    let edit = json!({ "consumer": "mailer", "id": "parked", "body": "faster", "reason": "INC-8" });
    assert_eq!(server.act("edit", edit).await.status, 200);
    let job = server.claimed("mailer@1").await;
    server.finish(job, failed(Cause::Handler)).await;
    let late = browser
        .submit(&page, "See what would change", &fields)
        .await;
    assert_eq!(late.status, 409, "{late:?}");
    assert!(late.body.contains(SHOWN), "{late:?}");
}

/// What a browser lets a person type into a field: so many UTF-16 units.
fn typed_max(page: &str, field: &str) -> usize {
    let (_, tag) = page.split_once(&format!("name=\"{field}\"")).unwrap();
    let (_, max) = tag.split_once("maxlength=\"").unwrap();
    max.split('"').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_a_field_takes_the_server_takes_in_any_language() {
    for letter in ["a", "é", "ß", "語", "🙂"] {
        let server = filled().await;
        let mut browser = Browser::at(server.address);
        let typed = |page: &str, field| {
            let units = letter.encode_utf16().count();
            letter.repeat(typed_max(page, field) / units)
        };
        // Of keys.
        let address = unknown(&server).await;
        let page = browser.open(&address).await;
        let (by, reason) = (typed(&page, "by"), typed(&page, "reason"));
        let said = [("reason", reason.as_str()), ("by", by.as_str())];
        let release = [said.as_slice(), &[("how", "release")]].concat();
        let look = browser.submit(&page, "value=\"release\"", &release).await;
        assert_eq!(look.status, 200, "{look:?}");
        let confirm = [("how", "release"), ("confirm", "yes")];
        browser.confirm(&look.body, "Release it", &confirm).await;
        let audit = server.get("/api/v1/audit").await.json();
        assert_eq!(audit["audit"][0]["reason"], reason);
        // Of messages; the second form asks for the reason once more.
        let page = browser.open("/inbox?consumer=mailer%401&id=parked").await;
        let retry = [said.as_slice(), &[("verb", "retry")]].concat();
        let look = browser.submit(&page, "See what it would do", &retry).await;
        assert_eq!(look.status, 200, "{look:?}");
        assert_eq!(typed_max(&look.body, "reason"), typed_max(&page, "reason"));
        browser.confirm(&look.body, "Retry 1 messages", &[]).await;
        let audit = server.get("/api/v1/inbox/audit").await.json();
        assert_eq!(audit["audit"][0]["reason"], reason);
    }
}
