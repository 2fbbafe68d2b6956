//! The dashboard's pages about messages, over sockets.

use semel_admin::{Config, Grant, Secret, Token, Tokens};
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition, State};
use serde_json::json;

use crate::browsing::Browser;
use crate::inbox::{failed, filled, message};
use crate::server::Server;

const BY: (&str, &str) = ("by", "ada");
const WHY: (&str, &str) = ("reason", "INC-7");

fn park(error: &str, answer: &'static str) -> Disposition {
    let error = ErrorText::new(error).with_answer(&answer.into());
    let cause = Cause::AttemptsExhausted;
    Disposition::Park { cause, error }
}

impl Server {
    fn browser(&self) -> Browser {
        Browser::at(self.address)
    }

    async fn states(&self, state: &str) -> usize {
        let page = self
            .get(&format!("/api/v1/inbox?state={state}"))
            .await
            .json();
        page["messages"].as_array().unwrap().len()
    }

    async fn newest_audit(&self) -> serde_json::Value {
        let audit = self.get("/api/v1/inbox/audit").await.json();
        audit["audit"][0].clone()
    }
}

#[tokio::test]
async fn the_inbox_shows_consumers_and_the_messages_that_match() {
    let server = filled().await;
    let mut browser = server.browser();
    let page = browser.open("/inbox").await;
    for text in [
        "mailer@1",
        "not served",
        "waiting",
        "parked",
        "the mail server said no",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("secret"), "{page}");
    let parked = browser
        .open("/inbox?consumer=mailer%401&state=PARKED&id=")
        .await;
    assert!(parked.contains("id=parked"), "{parked}");
    assert!(!parked.contains("id=waiting"), "{parked}");
    let none = browser.open("/inbox?lane=order-1").await;
    assert!(none.contains("No message matches."), "{none}");
    let one = browser.open("/inbox?id=waiting").await;
    assert!(
        one.contains("id=waiting") && !one.contains("id=parked"),
        "{one}"
    );
    let wrong = browser.get("/inbox?state=DONE").await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
}

#[tokio::test]
async fn many_are_retried_after_a_look_at_what_it_would_do() {
    let server = filled().await;
    for n in 0..3 {
        server
            .deal(&format!("m-{n}"), failed(Cause::AttemptsExhausted))
            .await;
    }
    let mut browser = server.browser();
    let page = browser
        .open("/inbox?consumer=mailer%401&cause=attempts-exhausted")
        .await;
    let fields = [("verb", "retry"), ("reason", "INC-7"), BY];
    let look = browser.submit(&page, "See what it would do", &fields).await;
    assert_eq!(look.status, 200, "{look:?}");
    assert!(look.body.contains("Retry 4 messages"), "{}", look.body);
    assert_eq!(server.states("PARKED").await, 4);
    let after = browser.confirm(&look.body, "Retry 4 messages", &[]).await;
    assert!(after.contains("4 messages run again."), "{after}");
    assert!(after.contains("No message matches."), "{after}");
    assert_eq!(server.states("RECEIVED").await, 5);
    let line = server.newest_audit().await;
    assert_eq!(
        (
            &line["verb"],
            &line["by"],
            &line["reason"],
            &line["changed"]
        ),
        (
            &json!("dashboard retry"),
            &json!("no-token:ada"),
            &json!("INC-7"),
            &json!(4)
        )
    );
    // Without a reason nothing is looked at, let alone changed.
    for unsaid in ["", " "] {
        let fields = [("verb", "retry"), ("reason", unsaid), BY];
        let refused = browser.submit(&page, "See what it would do", &fields).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(
            refused.body.contains("expected why you decide this"),
            "{refused:?}"
        );
    }
    // Where nothing would change there is nothing to confirm.
    let page = browser
        .open("/inbox?consumer=mailer%401&cause=attempts-exhausted")
        .await;
    let look = browser.submit(&page, "See what it would do", &fields).await;
    assert!(look.body.contains("Nothing would change."), "{}", look.body);
}

#[tokio::test]
async fn what_is_confirmed_is_what_was_looked_at() {
    let server = Server::start().await;
    server.deal("older", failed(Cause::AttemptsExhausted)).await;
    server.wait(1);
    let mut browser = server.browser();
    let page = browser
        .open("/inbox?consumer=mailer%401&state=PARKED&until=0s")
        .await;
    server.wait(1);
    let look = browser
        .submit(&page, "See what it would do", &[("verb", "skip"), WHY, BY])
        .await;
    assert!(look.body.contains("Skip 1 messages"), "{}", look.body);
    server.wait(60);
    server
        .deal("younger", failed(Cause::AttemptsExhausted))
        .await;
    server.wait(60);
    browser.confirm(&look.body, "Skip 1 messages", &[]).await;
    assert_eq!(server.states("PARKED").await, 1);
    assert_eq!(server.states("SKIPPED_DUPLICATE").await, 1);
}

#[tokio::test]
async fn a_confirmation_leaves_alone_what_changed_after_the_look() {
    let server = Server::start().await;
    for id in ["older", "again"] {
        server.deal(id, failed(Cause::AttemptsExhausted)).await;
    }
    server.wait(1);
    let mut browser = server.browser();
    let page = browser.open("/inbox?consumer=mailer%401").await;
    let skip = [("verb", "skip"), BY, ("reason", "gone")];
    let look = browser.submit(&page, "See what it would do", &skip).await;
    assert!(look.body.contains("Skip 2 messages"), "{}", look.body);
    server.wait(1);
    let retry = json!({ "consumer": "mailer", "ids": ["again"] });
    server.act("retry", retry).await;
    let job = server.claimed("mailer@1").await;
    server.finish(job, failed(Cause::AttemptsExhausted)).await;
    server.arrive("younger").await;
    browser.confirm(&look.body, "Skip 2 messages", &[]).await;
    assert_eq!(server.states("SKIPPED_DUPLICATE").await, 1);
    assert_eq!(server.states("PARKED").await, 1);
    assert_eq!(server.states("RECEIVED").await, 1);
}

#[tokio::test]
async fn an_act_on_dead_letters_leaves_the_backlog_alone() {
    let server = filled().await;
    let mut browser = server.browser();
    let page = browser.open("/dead-letters?consumer=mailer%401").await;
    assert!(!page.contains("id=waiting"), "{page}");
    let skip = [("verb", "skip"), BY, ("reason", "gone")];
    let look = browser.submit(&page, "value=\"skip\"", &skip).await;
    browser.confirm(&look.body, "Skip 1 messages", &[]).await;
    assert_eq!(server.states("RECEIVED").await, 1);
    assert_eq!(server.states("PARKED").await, 0);
}

#[tokio::test]
async fn an_id_is_listed_as_it_is_acted_on_of_every_tenant() {
    let server = filled().await;
    let identity = semel_core::Identity::parse("acme", "mailer@1", "parked").unwrap();
    let of_acme = semel_core::inbox::Message::new(identity, "payload").unwrap();
    server.receive(vec![of_acme]).await;
    let mut browser = server.browser();
    let path = "/inbox?consumer=mailer%401&id=parked";
    let page = browser.open(path).await;
    assert_eq!(page.matches("href=\"/inbox/one").count(), 2, "{page}");
    let park = [("verb", "park"), BY, ("reason", "look")];
    let look = browser.submit(&page, "See what it would do", &park).await;
    assert!(
        look.body.contains("<dt>Match</dt><dd>2</dd>"),
        "{}",
        look.body
    );
    for more in [
        "state=RECEIVED",
        "tenant=acme",
        "tenant=public",
        "cause=attempts-exhausted",
    ] {
        let page = browser.open(&format!("{path}&{more}")).await;
        assert_eq!(
            page.matches("href=\"/inbox/one").count(),
            1,
            "{more}: {page}"
        );
    }
    let none = browser.open(&format!("{path}&lane=order-1")).await;
    assert!(none.contains("No message matches."), "{none}");
}

#[tokio::test]
async fn messages_of_all_consumers_say_whose_they_are_whatever_the_address_looks_like() {
    let server = filled().await;
    let mut browser = server.browser();
    let column = "data-column=\"Consumer\"";
    for path in ["/inbox", "/inbox?consumer=&state=PARKED"] {
        let page = browser.open(path).await;
        assert!(page.contains(column), "{path}: {page}");
    }
    let one = browser.open("/inbox?consumer=mailer%401").await;
    assert!(!one.contains(column), "{one}");
}

#[tokio::test]
async fn what_a_store_searches_for_is_not_searched_for_again_and_again() {
    let server = filled().await;
    let mut browser = server.browser();
    for (path, is_live) in [
        ("/inbox", true),
        ("/inbox?consumer=mailer%401&state=PARKED", true),
        ("/inbox?id=parked&tenant=public", true),
        ("/inbox?consumer=mailer%401&cause=attempts-exhausted", false),
        ("/inbox?lane=order-1", false),
        ("/inbox?from=2h", false),
        ("/inbox?tenant=public&until=0s", false),
        ("/intents?consumer=intent%3Apay%401", true),
        ("/intents?consumer=intent%3Apay%401&tenant=acme", false),
    ] {
        let page = browser.open(path).await;
        assert_eq!(page.contains("data-live"), is_live, "{path}: {page}");
    }
    let page = browser.open("/inbox?cause=attempts-exhausted").await;
    assert!(page.contains("id=parked"), "it is shown once: {page}");
}

#[tokio::test]
async fn dead_letters_that_a_filter_hides_are_not_said_to_be_none() {
    let server = Server::start().await;
    let mut browser = server.browser();
    let none = browser.open("/dead-letters").await;
    assert!(none.contains("There are no dead letters."), "{none}");
    for n in 0..21 {
        let id = format!("parked-{n}");
        server.deal(&id, failed(Cause::Handler)).await;
    }
    for filter in ["consumer=other%401", "tenant=acme", "id=nothing"] {
        let hidden = browser.open(&format!("/dead-letters?{filter}")).await;
        assert!(hidden.contains("No message matches."), "{filter}: {hidden}");
        assert!(!hidden.contains("no dead letters"), "{filter}: {hidden}");
    }
    let found = server.get("/api/v1/inbox/failures").await.json();
    let group = found["groups"][0]["group"].as_str().unwrap();
    let page = browser.open(&format!("/dead-letters?group={group}")).await;
    assert_eq!(page.matches("href=\"/inbox/one").count(), 20, "{page}");
    assert!(page.contains("The newest 20."), "{page}");
}

#[tokio::test]
async fn keys_whose_messages_wait_say_what_holds_them_up() {
    let server = Server::start().await;
    for sequence in [1, 4, 5] {
        let message = message("indexer@1", &format!("v{sequence}"));
        let message = message.with_lane("order-1".parse().unwrap());
        let message = message.with_sequence(sequence).unwrap();
        server.receive(vec![message]).await;
    }
    let mut browser = server.browser();
    for path in ["/inbox", "/inbox?consumer=indexer%401"] {
        let page = browser.open(path).await;
        for text in [
            "Versions that keys wait for",
            "data-column=\"Missing\">2–3</td>",
            "Keys whose messages wait",
            "lane=order-1",
            "id=v1",
        ] {
            assert!(page.contains(text), "{path}: {text}: {page}");
        }
    }
    for (id, waits) in [("v1", false), ("v4", true), ("v5", true)] {
        let page = browser
            .open(&format!("/inbox/one?consumer=indexer%401&id={id}"))
            .await;
        let said = page.contains("<dd>versions 2–3 of order-1</dd>");
        assert_eq!(said, waits, "{id}: {page}");
    }
    let free = browser.open("/inbox?consumer=mailer%401").await;
    assert!(!free.contains("Keys whose messages wait"), "{free}");
}

#[tokio::test]
async fn a_consumer_that_nothing_serves_does_not_run() {
    let server = filled().await;
    let mut browser = server.browser();
    for path in ["/", "/inbox"] {
        let page = browser.open(path).await;
        assert!(page.contains("not served"), "{path}: {page}");
        assert!(!page.contains(">runs<"), "{path}: {page}");
    }
}

#[tokio::test]
async fn an_edit_keeps_the_line_ends_and_overwrites_no_newer_edit() {
    let server = Server::start().await;
    for (id, payload) in [
        ("crlf", "a\r\nb\r\n"),
        ("mixed", "a\r\nb\n"),
        ("nul", "a\0b"),
    ] {
        let identity = semel_core::Identity::parse("public", "mailer@1", id).unwrap();
        let message = semel_core::inbox::Message::new(identity, payload).unwrap();
        server.receive(vec![message]).await;
        let job = server.claimed("mailer@1").await;
        server.finish(job, failed(Cause::Handler)).await;
    }
    let mut browser = server.browser();
    let path = |id: &str| format!("/inbox/one?consumer=mailer%401&id={id}&payload=true");
    let mixed = browser.open(&path("mixed")).await;
    assert!(mixed.contains("end in more than one way"), "{mixed}");
    // A parser of HTML would make another character of NUL.
    let nul = browser.open(&path("nul")).await;
    assert!(nul.contains("The payload is not text"), "{nul}");
    assert!(!nul.contains("<textarea"), "{nul}");
    let page = browser.open(&path("crlf")).await;
    let fields = [("payload", "a\r\nc\r\n"), ("reason", "mended"), BY];
    let look = browser
        .submit(&page, "See what would change", &fields)
        .await;
    let lines = "<del>- b\n</del><ins>+ c\n</ins>";
    assert!(look.body.contains(lines), "{}", look.body);
    assert!(!look.body.contains("line ends:"), "{}", look.body);
    browser.confirm(&look.body, "Edit and retry", &[]).await;
    let identity = semel_core::Identity::parse("public", "mailer@1", "crlf").unwrap();
    let detail = server.inbox.message(identity).await.unwrap().unwrap();
    assert_eq!(&detail.edits[0].edit.payload()[..], b"a\r\nc\r\n");
    // It fails again, and the other form is still that of the message without an edit.
    let job = server.claimed("mailer@1").await;
    server.finish(job, failed(Cause::Handler)).await;
    let late = browser.submit(&look.body, "Edit and retry", &[]).await;
    assert_eq!(late.status, 409, "{late:?}");
    assert!(late.body.contains("was edited meanwhile"), "{late:?}");
}

#[tokio::test]
async fn a_message_shows_its_contents_and_answers_only_if_asked_for() {
    let server = Server::start().await;
    server
        .deal("evt-1", park("the handler answered 500", "iban missing"))
        .await;
    let mut browser = server.browser();
    let path = "/inbox/one?consumer=mailer%401&id=evt-1";
    let hidden = browser.open(path).await;
    for text in [
        "the handler answered 500",
        "attempts-exhausted",
        "worker-1",
        "X-Trace",
        "Show payload",
    ] {
        assert!(hidden.contains(text), "{text}: {hidden}");
    }
    for text in ["secret", "iban missing"] {
        assert!(!hidden.contains(text), "{text}: {hidden}");
    }
    let shown = browser.open(&format!("{path}&payload=true")).await;
    assert!(
        shown.contains("secret evt-1") && shown.contains("secret-trace"),
        "{shown}"
    );
    let answers = browser.open(&format!("{path}&answers=true")).await;
    assert!(answers.contains("iban missing"), "{answers}");
    assert!(!answers.contains("secret evt-1"), "{answers}");
    assert_eq!(
        browser
            .get("/inbox/one?consumer=mailer&id=nothing")
            .await
            .status,
        404
    );
    assert_eq!(browser.get("/inbox/one?consumer=mailer").await.status, 400);
}

#[tokio::test]
async fn a_payload_is_edited_after_a_look_at_the_difference() {
    let server = filled().await;
    let mut browser = server.browser();
    let path = "/inbox/one?consumer=mailer%401&id=parked&payload=true";
    let page = browser.open(path).await;
    assert!(page.contains("secret parked"), "{page}");
    let fields = [
        ("payload", "mended\r\nby hand"),
        ("content_type", "text/plain"),
        ("reason", "the address was cut off"),
        BY,
    ];
    let look = browser
        .submit(&page, "See what would change", &fields)
        .await;
    assert_eq!(look.status, 200, "{look:?}");
    for text in [
        "- secret parked",
        "+ mended",
        "+ by hand",
        "<dt>Content-Type</dt><dd>none → <strong>text/plain</strong></dd>",
        "<dt>Key for the provider</dt><dd>the one that it has</dd>",
        "<dt>Reason</dt><dd>the address was cut off</dd>",
        "<dt>Decided by</dt><dd>no-token:ada</dd>",
    ] {
        assert!(look.body.contains(text), "{text}: {}", look.body);
    }
    let again = [fields.as_slice(), &[("new_key", "yes")]].concat();
    let renewed = browser.submit(&page, "See what would change", &again).await;
    let new_key =
        "<dt>Key for the provider</dt><dd><strong>a new one</strong>: it may do once more";
    assert!(renewed.body.contains(new_key), "{}", renewed.body);
    assert_eq!(server.states("PARKED").await, 1);
    let after = browser.confirm(&look.body, "Edit and retry", &[]).await;
    assert!(after.contains("It is edited, and runs again."), "{after}");
    let page = browser.open(path).await;
    for text in [
        "Original",
        "secret parked",
        "Edit 1 by no-token:ada",
        "mended\nby hand",
        "text/plain",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let line = server.newest_audit().await;
    assert_eq!(
        (&line["verb"], &line["action"]),
        (&json!("dashboard edit"), &json!("edit"))
    );
    // What runs by itself has no form to edit it.
    assert!(!page.contains("See what would change"), "{page}");
}

#[tokio::test]
async fn contents_are_erased_after_a_look_and_the_page_says_so() {
    let server = filled().await;
    let mut browser = server.browser();
    let path = "/inbox/one?consumer=mailer%401&id=parked";
    let page = browser.open(path).await;
    let look = browser
        .submit(
            &page,
            "See what it would erase",
            &[("reason", "request 4711"), BY],
        )
        .await;
    assert!(look.body.contains("Erase 1 messages"), "{}", look.body);
    let after = browser.confirm(&look.body, "Erase 1 messages", &[]).await;
    assert!(
        after.contains("Its contents were erased.") && !after.contains("X-Trace"),
        "{after}"
    );
    assert_eq!(server.newest_audit().await["action"], "erase-contents");
}

#[tokio::test]
async fn dead_letters_are_shown_in_groups_and_acted_on_as_one() {
    let server = Server::start().await;
    for n in 0..3 {
        server
            .deal(
                &format!("lost-{n}"),
                park(&format!("no customer c-{n}"), ""),
            )
            .await;
    }
    server.deal("other", failed(Cause::Handler)).await;
    let mut browser = server.browser();
    let page = browser.open("/dead-letters").await;
    assert!(
        page.contains("no customer #") && page.contains("the mail server said no"),
        "{page}"
    );
    let found = server.get("/api/v1/inbox/failures").await.json();
    let group = found["groups"][0]["group"].as_str().unwrap();
    assert!(page.contains(group), "{page}");
    let page = browser
        .open(&format!("/dead-letters?consumer=mailer%401&group={group}"))
        .await;
    assert!(
        page.contains("no customer c-2") && !page.contains("id=other"),
        "{page}"
    );
    let fields = [("verb", "skip"), ("reason", "gone for good"), BY];
    let look = browser.submit(&page, "See what it would do", &fields).await;
    let after = browser.confirm(&look.body, "Skip 3 messages", &[]).await;
    assert!(
        after.contains("3 messages are passed over for good."),
        "{after}"
    );
    assert!(
        after.contains("No failure of this group is left."),
        "{after}"
    );
    assert_eq!(server.states("PARKED").await, 1);
}

#[tokio::test]
async fn a_replay_says_what_the_policy_says_and_needs_a_reason_against_it() {
    let server = filled().await;
    let mut browser = server.browser();
    let page = browser.open("/dead-letters?consumer=mailer%401").await;
    assert!(page.contains("does not allow replays"), "{page}");
    let reason = ("reason", "the mails were lost");
    let look = browser
        .submit(&page, "value=\"replay\"", &[("verb", "replay"), reason, BY])
        .await;
    assert!(look.body.contains("Replay 1 messages"), "{}", look.body);
    let nothing = [("reason", " ")];
    let without = browser
        .submit(&look.body, "Replay 1 messages", &nothing)
        .await;
    assert_eq!(without.status, 400, "{without:?}");
    assert_eq!(server.states("COMPLETED").await, 1);
    browser.confirm(&look.body, "Replay 1 messages", &[]).await;
    assert_eq!(server.states("COMPLETED").await, 0);
    assert_eq!(server.newest_audit().await["action"], "replay");

    server.receive(vec![message("indexer@1", "i-1")]).await;
    let allowed = browser.open("/dead-letters?consumer=indexer%401").await;
    assert!(
        allowed.contains("allows replays") && allowed.contains("It is a rebuild"),
        "{allowed}"
    );
}

#[tokio::test]
async fn a_consumer_is_paused_and_resumed() {
    let server = filled().await;
    let mut browser = server.browser();
    let page = browser.open("/inbox?consumer=mailer%401").await;
    let fields = [("reason", "INC-7"), BY];
    let paused = browser
        .confirm(&page, "Pause in all processes", &fields)
        .await;
    for text in ["mailer@1 is paused", "Paused by", "INC-7", "Resume"] {
        assert!(paused.contains(text), "{text}: {paused}");
    }
    assert!(server.claim_batch("mailer@1").await.paused);
    let resume = ">Resume</button>";
    let without = browser.submit(&paused, resume, &[BY]).await;
    assert_eq!(without.status, 400, "{without:?}");
    let resumed = browser.confirm(&paused, resume, &[WHY, BY]).await;
    assert!(resumed.contains("mailer@1 goes on."), "{resumed}");
}

#[tokio::test]
async fn intents_are_shown_by_target_with_the_key_of_their_provider() {
    let server = Server::start().await;
    let intent = message("intent:pay@1", "o-1:charge");
    server.receive(vec![intent]).await;
    let job = server.claimed("intent:pay@1").await;
    server
        .finish(job, park("the provider answered 402", "card declined"))
        .await;
    server.arrive("evt-1").await;
    let mut browser = server.browser();
    let targets = browser.open("/intents").await;
    assert!(
        targets.contains(">pay<") && !targets.contains("mailer@1"),
        "{targets}"
    );
    let inbox = browser.open("/inbox").await;
    assert!(!inbox.contains(">pay<"), "{inbox}");
    let page = browser.open("/intents?consumer=intent%3Apay%401").await;
    assert!(page.contains("the provider answered 402"), "{page}");
    let one = browser
        .open("/inbox/one?consumer=intent%3Apay%401&id=o-1%3Acharge&answers=true")
        .await;
    assert!(
        one.contains("Key for the provider") && one.contains("card declined"),
        "{one}"
    );
    let look = browser
        .submit(&page, "See what it would do", &[("verb", "retry"), WHY, BY])
        .await;
    assert!(!look.body.contains("new key"), "{}", look.body);
    browser.confirm(&look.body, "Retry 1 messages", &[]).await;
    assert_eq!(server.states(State::Received.name()).await, 2);
}

#[tokio::test]
async fn an_intent_is_retried_with_a_new_key_for_its_provider() {
    let server = filled().await;
    server
        .receive(vec![message("intent:pay@1", "o-1:charge")])
        .await;
    let job = server.claimed("intent:pay@1").await;
    server
        .finish(job, park("the provider answered 402", "card declined"))
        .await;
    let mut browser = server.browser();
    let tick = "name=\"new_key\"";
    let of_consumer = browser.open("/inbox?consumer=mailer%401").await;
    assert!(!of_consumer.contains(tick), "{of_consumer}");
    for path in [
        "/dead-letters?consumer=intent%3Apay%401",
        "/inbox/one?consumer=intent%3Apay%401&id=o-1%3Acharge",
        "/intents?consumer=intent%3Apay%401",
    ] {
        let page = browser.open(path).await;
        assert!(page.contains(tick), "{path}: {page}");
    }
    let page = browser.open("/intents?consumer=intent%3Apay%401").await;
    let fields = [("verb", "retry"), ("new_key", "yes"), WHY, BY];
    let look = browser.submit(&page, "See what it would do", &fields).await;
    let warning = "The provider is given a new key for each";
    assert!(look.body.contains(warning), "{}", look.body);
    browser.confirm(&look.body, "Retry 1 messages", &[]).await;
    assert_eq!(server.newest_audit().await["action"], "retry-with-new-key");
    // Nothing else gives one.
    let fields = [("verb", "park"), ("new_key", "yes"), WHY, BY];
    let refused = browser.submit(&page, "See what it would do", &fields).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.body.contains("only a retry can have a new key"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_others_wrote_never_becomes_markup() {
    let server = Server::start().await;
    let evil = "<script>alert(1)</script>";
    server.deal(evil, park(evil, "")).await;
    let mut browser = server.browser();
    let id = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    for path in [
        "/inbox",
        "/dead-letters",
        &format!("/inbox/one?consumer=mailer&id={id}&payload=true"),
    ] {
        let page = browser.open(path).await;
        assert!(page.contains("&lt;script&gt;"), "{page}");
        assert!(!page.contains("<script>alert"), "{page}");
    }
}

#[tokio::test]
async fn who_may_only_read_sees_everything_and_changes_nothing() {
    let secret = "reader-7071-token";
    let reader = Token::new(
        "reader".parse().unwrap(),
        Secret::new(secret).unwrap(),
        Grant::Read,
    );
    let config = Config {
        tokens: Tokens::new([reader.unwrap()]).unwrap(),
        ..Config::default()
    };
    let server = Server::start_with(config, |store| store).await;
    server.deal("parked", failed(Cause::Handler)).await;
    let mut browser = Browser::with_token(server.address, secret);
    for path in [
        "/inbox?consumer=mailer",
        "/inbox/one?consumer=mailer&id=parked&payload=true",
        "/dead-letters?consumer=mailer",
        "/intents",
    ] {
        let page = browser.open(path).await;
        assert!(!page.contains("See what"), "{path}: {page}");
    }
    let forged = "<form method=\"post\" action=\"/inbox\"></form>";
    for verb in ["skip", "edit", "pause"] {
        let fields = [
            ("consumer", "mailer"),
            ("id", "parked"),
            ("verb", verb),
            ("confirmed", "yes"),
        ];
        let refused = browser.submit(forged, "", &fields).await;
        assert_eq!(refused.status, 403, "{verb}: {refused:?}");
    }
    let found = semel_core::Identity::parse("public", "mailer@1", "parked").unwrap();
    let detail = server.inbox.message(found).await.unwrap().unwrap();
    assert_eq!((detail.entry.state, detail.edits.len()), (State::Parked, 0));
}
