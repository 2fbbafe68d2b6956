//! Handlers and providers that are away: an outage parks nothing, and what waits goes out when they are back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use semel_core::Inbox;
use semel_core::inbox::{Cause, State};
use semel_inbox::intents::Target;
use semel_inbox::{CircuitState, CircuitView, Done, HttpHandler, Running, handler_fn};

use crate::support::server::{Server, status, with};
use crate::support::{Rig, consumer, eventually, identity, message, quick};

/// The circuit of a consumer, once it is in this state.
async fn circuit(running: &Running, consumer: &str, state: CircuitState) -> CircuitView {
    let look = async || {
        let all = running.circuits().into_iter();
        let mut found = all.filter(|view| view.consumer.to_string() == consumer);
        found.find(|view| view.state == state)
    };
    eventually(&format!("the circuit of {consumer} {}", state.name()), look).await
}

#[tokio::test]
async fn an_outage_costs_no_attempt_and_the_backlog_goes_out_when_the_handler_is_back() {
    // A port that is taken, so that no other process gets it, and at which nothing listens.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = socket.local_addr().unwrap();
    let rig = Rig::new();
    let handler = HttpHandler::new(&format!("http://{addr}/?token=s3cret")).unwrap();
    let mut policy = consumer("mail");
    policy.retry = quick(1);
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    let ids: Vec<String> = (0..20).map(|n| format!("m-{n}")).collect();
    for id in &ids {
        rig.receive(message("mail", id, "hi")).await;
    }
    let open = circuit(&running, "mail@1", CircuitState::Open).await;
    let reason = open.reason.unwrap();
    assert!(reason.contains("Connection refused"), "{reason}");
    assert!(!reason.contains("s3cret"), "{reason}");
    assert!(open.retry_at.is_some_and(|at| at >= open.since));
    let told = async || {
        let alerts = rig.seen.alerts.lock().unwrap();
        alerts
            .iter()
            .any(|a| (a.1, a.2) == ("circuit-open", true))
            .then_some(())
    };
    eventually("the alert", told).await;
    let first = identity("mail", "m-0");
    let tried = rig.until(&first, State::FailedRetryable).await;
    assert_eq!(tried.entry.cause, Some(Cause::NotReached));
    // It probes more than once, and nothing is used up.
    let probes = async || {
        let told = rig.seen.circuits.lock().unwrap();
        let half_open = told.iter().filter(|told| told.1 == CircuitState::HalfOpen);
        (half_open.count() >= 2).then_some(())
    };
    eventually("two probes", probes).await;
    let server = Server::on(socket.listen(1_024).unwrap(), |_| status(200));
    for id in &ids {
        let detail = rig.until(&identity("mail", id), State::Completed).await;
        assert_eq!(detail.entry.attempts, 1);
    }
    circuit(&running, "mail@1", CircuitState::Closed).await;
    running.shutdown().await;
    assert_eq!(server.requests().len(), ids.len());
}

#[tokio::test]
async fn a_wish_to_be_left_alone_makes_the_whole_consumer_wait() {
    for code in [429, 503] {
        let rig = Rig::new();
        let server = Server::scripted(vec![with(code, &[("retry-after", "3600")], "")]).await;
        let handler = HttpHandler::new(&server.url("/")).unwrap();
        let running = rig.engine().consumer(consumer("mail"), handler);
        let running = running.build().unwrap().start();
        rig.receive(message("mail", "m-1", "hi")).await;
        let open = circuit(&running, "mail@1", CircuitState::Open).await;
        let wait = open.retry_at.unwrap().since(open.since);
        assert!(wait > Duration::from_secs(3_500), "{wait:?}");
        rig.receive(message("mail", "m-2", "hi")).await;
        // Whatever was claimed by then is given back.
        let idle = async || {
            let counts = rig.store.counts().await.unwrap();
            let ours = counts.iter().find(|c| c.consumer.name() == "mail");
            ours.filter(|c| c.in_progress == 0 && c.received == 1)
                .map(drop)
        };
        eventually("one waits", idle).await;
        running.shutdown().await;
        assert_eq!(server.requests().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn timeouts_in_a_row_open_the_circuit_and_other_failures_do_not() {
    let rig = Rig::new();
    let hanging = handler_fn(|_| async { std::future::pending().await });
    let failing = handler_fn(|_| async { Err(semel_inbox::Failure::retryable("busy")) });
    let mut policy = consumer("slow");
    policy.deadline = Duration::from_millis(20);
    policy.retry = quick(3);
    let engine = rig.engine().consumer(policy, hanging);
    let running = engine.consumer(consumer("bad"), failing).build().unwrap();
    let running = running.start();
    rig.receive(message("bad", "m-1", "hi")).await;
    rig.until(&identity("bad", "m-1"), State::Parked).await;
    rig.receive(message("slow", "m-1", "hi")).await;
    circuit(&running, "slow@1", CircuitState::Open).await;
    circuit(&running, "bad@1", CircuitState::Closed).await;
    running.shutdown().await;
}

/// An engine whose consumer `orders` sends one intent for each message, one at a time.
fn sending(rig: &Rig, server: &Server) -> Running {
    let target = Target::new("pay", &server.url("/")).unwrap();
    let handler = handler_fn(|ctx| async move {
        ctx.intent("pay", "charge", "{}")?;
        Ok(Done::new())
    });
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let target = target.retry(quick(1)).workers(1);
    engine.target(target).build().unwrap().start()
}

fn charge(order: &str) -> semel_core::Identity {
    identity("intent:pay", &format!("orders@1:{order}:charge"))
}

#[tokio::test]
async fn a_rotated_key_pauses_the_target_instead_of_failing_every_intent() {
    for code in [401, 403] {
        let (rig, is_rotated) = (Rig::new(), Arc::new(AtomicBool::new(true)));
        let rotated = is_rotated.clone();
        let server = Server::start(move |_| match rotated.load(Ordering::SeqCst) {
            true => with(code, &[], "key revoked"),
            false => status(200),
        });
        let server = server.await;
        let running = sending(&rig, &server);
        for n in 0..8 {
            rig.receive(message("orders", &format!("o-{n}"), "{}"))
                .await;
        }
        let open = circuit(&running, "intent:pay@1", CircuitState::Open).await;
        assert!(open.reason.unwrap().contains(&code.to_string()));
        is_rotated.store(false, Ordering::SeqCst);
        let all_sent = async || {
            let counts = rig.store.counts().await.unwrap();
            let ours = counts.iter().find(|c| c.consumer.name() == "intent:pay");
            ours.filter(|c| c.pending() == 0).map(|c| c.failed_terminal)
        };
        // Only those before it was plain that the key was meant.
        assert_eq!(eventually("nothing waits", all_sent).await, 2);
        running.shutdown().await;
    }
}

#[tokio::test]
async fn one_refusal_among_successes_is_terminal() {
    let (rig, server) = (
        Rig::new(),
        Server::scripted(vec![status(200), status(403), status(200)]).await,
    );
    let running = sending(&rig, &server);
    for (order, end) in [
        ("o-1", State::Completed),
        ("o-2", State::FailedTerminal),
        ("o-3", State::Completed),
    ] {
        rig.receive(message("orders", order, "{}")).await;
        rig.until(&charge(order), end).await;
    }
    circuit(&running, "intent:pay@1", CircuitState::Closed).await;
    running.shutdown().await;
}
