//! Attempts: once if all goes well, again if it may help, never for ever.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use semel_core::inbox::{Cause, Receipt, State};
use semel_inbox::{Done, Failure, handler_fn};

use crate::support::{Rig, consumer, eventually, identity, message, quick};

#[tokio::test]
async fn each_message_runs_once_however_often_it_arrives() {
    let (rig, runs) = (Rig::new(), Arc::new(AtomicUsize::new(0)));
    let counter = runs.clone();
    let handler = handler_fn(move |ctx| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move { Ok(Done::with_body(ctx.message().payload().clone())) }
    });
    let engine = rig.engine().consumer(consumer("mailer"), handler);
    let running = engine.build().unwrap().start();
    let receiver = running.receiver(&"mailer".parse().unwrap()).unwrap();
    for _ in 0..3 {
        let all = (0..100).map(|n| receiver.receive(message("mailer", &format!("m-{n}"), "hi")));
        for receipt in futures_util::future::join_all(all).await {
            receipt.unwrap();
        }
    }
    for n in 0..100 {
        let id = identity("mailer", &format!("m-{n}"));
        let detail = rig.until(&id, State::Completed).await;
        let outcome = detail.settled.unwrap().outcome;
        assert_eq!(outcome.body.kept().unwrap(), "hi");
    }
    let again = receiver.receive(message("mailer", "m-7", "hi")).await;
    let known = Receipt::duplicate(State::Completed);
    assert_eq!(again.unwrap().brief(), known);
    let other = receiver.receive(message("mailer", "m-7", "ho")).await;
    assert_eq!(other.unwrap(), Receipt::Conflict);
    running.shutdown().await;
    assert_eq!(runs.load(Ordering::SeqCst), 100);
    let finished = rig.seen.finished.lock().unwrap().len();
    assert_eq!(finished, 100);
    assert_eq!(rig.seen.received.lock().unwrap().len(), 302);
}

/// Runs one message with a handler that fails by number, and returns what each attempt saw.
async fn attempts(
    rig: &Rig,
    change: impl FnOnce(&mut semel_inbox::Consumer),
    result: impl Fn(u32) -> Result<Done, Failure> + Send + Sync + 'static,
    end: State,
) -> (Vec<u32>, semel_core::inbox::Detail) {
    let seen: Arc<Mutex<Vec<u32>>> = Arc::default();
    let numbers = seen.clone();
    let handler = handler_fn(move |ctx| {
        numbers.lock().unwrap().push(ctx.attempt());
        let result = result(ctx.attempt());
        async move { result }
    });
    let mut policy = consumer("mailer");
    change(&mut policy);
    let engine = rig.engine().consumer(policy, handler).build().unwrap();
    let running = engine.start();
    rig.receive(message("mailer", "m-1", "hi")).await;
    let detail = rig.until(&identity("mailer", "m-1"), end).await;
    running.shutdown().await;
    let seen = seen.lock().unwrap().clone();
    (seen, detail)
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_until_it_has_passed() {
    let rig = Rig::new();
    let result = |attempt| match attempt {
        3 => Ok(Done::new()),
        _ => Err(Failure::retryable("busy")),
    };
    let (seen, detail) = attempts(&rig, |_| {}, result, State::Completed).await;
    assert_eq!(seen, [1, 2, 3]);
    let errors: Vec<_> = detail.attempts.iter().map(|a| a.error.as_deref()).collect();
    assert_eq!(errors, [Some("busy"), Some("busy")]);
}

#[tokio::test]
async fn a_terminal_failure_is_not_tried_again() {
    let result = |_| Err(Failure::terminal("bad"));
    let (seen, detail) = attempts(&Rig::new(), |_| {}, result, State::FailedTerminal).await;
    assert_eq!(seen, [1]);
    assert_eq!(detail.entry.error.as_deref(), Some("bad"));
}

#[tokio::test]
async fn attempts_that_are_used_up_end_parked_or_terminal_by_policy() {
    let failing = |_| Err(Failure::retryable("busy"));
    let three = |policy: &mut semel_inbox::Consumer| policy.retry = quick(3);
    let (seen, detail) = attempts(&Rig::new(), three, failing, State::Parked).await;
    assert_eq!(seen, [1, 2, 3]);
    assert_eq!(detail.entry.cause, Some(Cause::AttemptsExhausted));
    let without_parking = |policy: &mut semel_inbox::Consumer| {
        three(policy);
        policy.parking = false;
    };
    let end = State::FailedTerminal;
    let (seen, _) = attempts(&Rig::new(), without_parking, failing, end).await;
    assert_eq!(seen, [1, 2, 3]);
}

#[tokio::test]
async fn a_handler_may_park_or_skip() {
    let (_, detail) = attempts(
        &Rig::new(),
        |_| {},
        |_| Err(Failure::park("a person must look")),
        State::Parked,
    )
    .await;
    assert_eq!(detail.entry.cause, Some(Cause::Handler));
    let skip = |_| Ok(Done::skipped());
    attempts(&Rig::new(), |_| {}, skip, State::SkippedDuplicate).await;
}

#[tokio::test]
async fn the_other_sides_wish_to_wait_is_heeded() {
    let (rig, clock) = Rig::with_clock();
    let hour = Duration::from_secs(3_600);
    let result = move |attempt| match attempt {
        1 => Err(Failure::retryable_after(hour, "slow down")),
        _ => Ok(Done::new()),
    };
    let (seen, detail) = attempts(&rig, |_| {}, result, State::FailedRetryable).await;
    assert_eq!(seen, [1]);
    let due = detail.entry.due_at.unwrap();
    assert_eq!(due, semel_core::Clock::now(&*clock).after(hour));
}

#[tokio::test]
async fn an_attempt_beyond_its_deadline_is_cancelled_and_tried_again() {
    let rig = Rig::new();
    let cancelled = Arc::new(AtomicUsize::new(0));
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let counter = cancelled.clone();
    let handler = handler_fn(move |ctx| {
        let dropped = Dropped(counter.clone());
        async move {
            if ctx.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            std::mem::forget(dropped);
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mailer");
    policy.deadline = Duration::from_millis(30);
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    rig.receive(message("mailer", "m-1", "hi")).await;
    let detail = rig
        .until(&identity("mailer", "m-1"), State::Completed)
        .await;
    assert_eq!(cancelled.load(Ordering::SeqCst), 1);
    assert_eq!(detail.attempts[0].cause, Some(Cause::Unknown));
    let error = detail.attempts[0].error.as_deref().unwrap();
    assert!(error.contains("deadline of 30ms"), "{error}");
    running.shutdown().await;
}

#[tokio::test]
async fn a_panic_is_unknown_and_runs_again_by_default() {
    let result = |attempt| match attempt {
        1 => panic!("of all things"),
        _ => Ok(Done::new()),
    };
    let (seen, detail) = attempts(&Rig::new(), |_| {}, result, State::Completed).await;
    assert_eq!(seen, [1, 2]);
    let error = detail.attempts[0].error.as_deref().unwrap();
    assert!(error.contains("panicked: of all things"), "{error}");
    assert_eq!(detail.attempts[0].cause, Some(Cause::Unknown));
}

#[tokio::test]
async fn no_more_handlers_run_at_once_than_there_are_workers() {
    let (rig, now, most) = (
        Rig::new(),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (running_now, at_most) = (now.clone(), most.clone());
    let handler = handler_fn(move |_| {
        let (now, most) = (running_now.clone(), at_most.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mailer");
    policy.workers = 3;
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    for n in 0..300 {
        rig.receive(message("mailer", &format!("m-{n}"), "hi"))
            .await;
    }
    let all = async || (rig.seen.finished.lock().unwrap().len() == 300).then_some(());
    eventually("300 attempts", all).await;
    assert!(most.load(Ordering::SeqCst) <= 3);
    running.shutdown().await;
}

#[tokio::test]
async fn nonsense_is_refused_before_anything_starts() {
    let rig = Rig::new();
    let handler = || handler_fn(|_| async { Ok(Done::new()) });
    let refused = |builder: semel_inbox::Builder| builder.build().map(drop).unwrap_err();
    let twice = rig
        .engine()
        .consumer(consumer("a"), handler())
        .consumer(consumer("a@1"), handler());
    assert!(refused(twice).to_string().contains("two consumers"));
    let reserved = rig.engine().consumer(consumer("intent:a"), handler());
    assert!(refused(reserved).to_string().contains("intent:"));
    let mut idle = consumer("a");
    idle.workers = 0;
    let idle = rig.engine().consumer(idle, handler());
    assert!(refused(idle).to_string().contains("workers"));
}
