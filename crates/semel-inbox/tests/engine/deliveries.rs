//! Delivery by HTTP: what a handler is sent, and what each of its answers means.

use std::time::Duration;

use bytes::Bytes;
use semel_core::inbox::{Detail, Message, State};
use semel_core::{Headers, Identity, Key};
use semel_inbox::HttpHandler;

use crate::support::server::{Reply, Server, status, with};
use crate::support::{Rig, consumer, identity, message, quick};

/// Delivers one message to a server and waits for its end.
async fn delivered(server: &Server, message: Message, end: State) -> Detail {
    delivered_within(Duration::from_secs(180), server, message, end).await
}

async fn delivered_within(
    limit: Duration,
    server: &Server,
    message: Message,
    end: State,
) -> Detail {
    let rig = Rig::new();
    let handler = HttpHandler::new(&server.url("/handle")).unwrap();
    let handler = handler.timeout(limit);
    let mut policy = consumer("mailer@2");
    policy.retry = quick(3);
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    let identity = message.identity().clone();
    rig.receive(message).await;
    let detail = rig.until(&identity, end).await;
    running.shutdown().await;
    detail
}

fn plain() -> Message {
    message("mailer@2", "evt-1", "{\"n\":1}")
}

#[tokio::test]
async fn a_handler_is_sent_the_message_and_what_makes_repetition_harmless() {
    let server = Server::scripted(vec![
        status(500),
        with(201, &[("location", "/m/1")], "made"),
    ]);
    let server = server.await;
    let fields = [
        ("Content-Type", "application/json"),
        ("X-Trace", "abc"),
        ("Semel-Fence", "999"),
        ("Idempotency-Key", "forged"),
        ("Connection", "close"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), Bytes::from(value)));
    let message = plain()
        .with_headers(Headers::new(fields.to_vec()).unwrap())
        .with_kind("mail.wanted", None)
        .unwrap()
        .with_lane(Key::new("ünt").unwrap())
        .with_sequence(7)
        .unwrap();
    let detail = delivered(&server, message, State::Completed).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let second = &requests[1];
    assert_eq!(second.line, "POST /handle HTTP/1.1");
    assert_eq!(second.body, "{\"n\":1}");
    for (name, value) in [
        ("idempotency-key", "mailer@2:evt-1"),
        ("semel-tenant", "public"),
        ("semel-consumer", "mailer@2"),
        ("semel-message-id", "evt-1"),
        ("semel-attempt", "2"),
        ("semel-replay", "false"),
        ("semel-generation", "0"),
        ("semel-message-type", "mail.wanted"),
        ("semel-key", "%C3%BCnt"),
        ("semel-sequence", "7"),
        ("content-type", "application/json"),
        ("x-trace", "abc"),
    ] {
        assert_eq!(second.header(name), Some(value), "{name}");
    }
    assert_eq!(second.header("semel-steps"), None);
    let fences: Vec<u64> = requests
        .iter()
        .map(|request| request.header("semel-fence").unwrap().parse().unwrap())
        .collect();
    assert!(fences[0] < fences[1] && fences[1] != 999);
    let outcome = detail.settled.unwrap().outcome;
    assert_eq!(outcome.status, 201);
    assert_eq!(outcome.body.kept().unwrap(), "made");
    assert!(outcome.headers.iter().any(|(name, _)| name == "location"));
}

#[tokio::test]
async fn the_answer_decides() {
    let word = |said: &'static str, code| with(code, &[("semel-outcome", said)], "");
    for (reply, end, requests) in [
        (status(204), State::Completed, 1),
        (status(400), State::FailedTerminal, 1),
        (status(302), State::FailedTerminal, 1),
        (status(403), State::FailedTerminal, 1),
        (status(409), State::Parked, 3),
        (status(423), State::Parked, 3),
        (status(503), State::Parked, 3),
        (status(429), State::Parked, 3),
        (Reply::Silence, State::Parked, 3),
        (word("final", 500), State::Completed, 1),
        (word("final", 404), State::Completed, 1),
        (word("retryable", 200), State::Parked, 3),
        (word("park", 200), State::Parked, 1),
        (word("skip", 404), State::SkippedDuplicate, 1),
    ] {
        let name = format!("{reply:?}");
        let server = Server::scripted(vec![reply]).await;
        delivered(&server, plain(), end).await;
        assert_eq!(server.requests().len(), requests, "{name}");
    }
}

#[tokio::test]
async fn no_answer_in_time_is_tried_again() {
    let server = Server::scripted(vec![Reply::Never]).await;
    let limit = Duration::from_millis(50);
    let detail = delivered_within(limit, &server, plain(), State::Parked).await;
    assert_eq!(detail.attempts.len(), 3);
    let error = detail.entry.error.unwrap();
    assert!(error.contains("no answer within 50ms"), "{error}");
}

#[tokio::test]
async fn retry_after_is_heeded() {
    let (rig, clock) = Rig::with_clock();
    let server = Server::scripted(vec![with(429, &[("retry-after", "120")], "")]).await;
    let handler = HttpHandler::new(&server.url("/")).unwrap();
    let running = rig.engine().consumer(consumer("mailer@2"), handler);
    let running = running.build().unwrap().start();
    rig.receive(plain()).await;
    let id = identity("mailer@2", "evt-1");
    let detail = rig.until(&id, State::FailedRetryable).await;
    running.shutdown().await;
    let due = semel_core::Clock::now(&*clock).after(Duration::from_secs(120));
    assert_eq!(detail.entry.due_at, Some(due));
}

#[tokio::test]
async fn the_key_is_another_one_for_each_consumer_and_tenant_and_the_same_on_each_attempt() {
    let (rig, server) = (
        Rig::new(),
        Server::scripted(vec![status(500), status(200)]).await,
    );
    let handler = || HttpHandler::new(&server.url("/")).unwrap();
    let engine = rig.engine().consumer(consumer("mailer@2"), handler());
    let engine = engine.consumer(consumer("audit"), handler());
    let running = engine.build().unwrap().start();
    for (tenant, scope) in [
        ("public", "mailer@2"),
        ("acme", "mailer@2"),
        ("public", "audit"),
    ] {
        let identity = Identity::parse(tenant, scope, "evt 1").unwrap();
        rig.receive(Message::new(identity.clone(), "{}").unwrap())
            .await;
        rig.until(&identity, State::Completed).await;
    }
    running.shutdown().await;
    let requests = server.requests();
    let said: Vec<_> = requests
        .iter()
        .map(|request| {
            let say = |name| request.header(name).unwrap();
            assert_eq!(say("semel-message-id"), "evt 1");
            (say("idempotency-key"), say("semel-tenant"))
        })
        .collect();
    let expected = [
        ("mailer@2:evt%201", "public"),
        ("mailer@2:evt%201", "public"),
        ("acme/mailer@2:evt%201", "acme"),
        ("audit@1:evt%201", "public"),
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn the_body_of_a_failed_answer_is_kept_with_its_attempt() {
    let server = Server::scripted(vec![with(422, &[], "no such address")]).await;
    let detail = delivered(&server, plain(), State::FailedTerminal).await;
    let attempt = &detail.attempts[0];
    assert_eq!(attempt.answer.as_deref(), Some(&b"no such address"[..]));
    let error = attempt.error.as_deref().unwrap();
    assert_eq!(error, "the handler answered 422 Unprocessable Entity");
}

#[tokio::test]
async fn steps_over_http_are_remembered_and_resumed_at_the_first_that_is_not_done() {
    let step = |name: &str, result: &str| with(200, &[("semel-step", name)], result);
    let server = Server::scripted(vec![
        step("charge", "{\"id\":7}"),
        status(503),
        step("mail", ""),
        with(200, &[], "all done"),
    ]);
    let server = server.await;
    let detail = delivered(&server, plain(), State::Completed).await;
    let seen: Vec<_> = server
        .requests()
        .iter()
        .map(|request| {
            let text = |name| request.header(name).unwrap_or_default().to_owned();
            (text("semel-attempt"), text("semel-steps"))
        })
        .collect();
    let seen: Vec<_> = seen.iter().map(|(a, s)| (a.as_str(), s.as_str())).collect();
    let charge = "charge=:eyJpZCI6N30=:";
    let both = "charge=:eyJpZCI6N30=:, mail=::";
    assert_eq!(seen, [("1", ""), ("1", charge), ("2", charge), ("2", both)]);
    assert_eq!(
        detail.settled.unwrap().outcome.body.kept().unwrap(),
        "all done"
    );
}

#[tokio::test]
async fn steps_that_break_the_rules_are_terminal_and_say_why() {
    let long = "x".repeat(4_097);
    for (reply, expected) in [
        (with(200, &[("semel-step", "Not A Key")], ""), "RFC 9651"),
        (with(200, &[("semel-step", "long")], &long), "4096"),
        (with(200, &[("semel-step", "again")], ""), "done already"),
    ] {
        let server = Server::scripted(vec![reply]).await;
        let detail = delivered(&server, plain(), State::FailedTerminal).await;
        let error = detail.entry.error.unwrap();
        assert!(error.contains(expected), "{error}");
    }
}
