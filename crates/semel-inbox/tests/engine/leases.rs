//! Leases: renewed while a handler runs, and lost for good once somebody else has claimed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use semel_core::duplicate::Origin;
use semel_core::inbox::{ClaimBatch, Disposition, Finish, Plan, State, UnknownPolicy, WorkerName};
use semel_core::{Inbox, LeaseTerm, ManualClock, Outcome};
use semel_inbox::{Done, Running, handler_fn};
use tokio::sync::Semaphore;

use crate::support::{Rig, consumer, eventually, identity, message};

fn short() -> LeaseTerm {
    LeaseTerm::new(Duration::from_millis(90)).unwrap()
}

fn ask(consumer: &str) -> ClaimBatch {
    ClaimBatch {
        plan: Plan::new(consumer.parse().unwrap()),
        worker: WorkerName::new("thief").unwrap(),
        max: 1,
        bytes_max: usize::MAX,
        lease: LeaseTerm::default(),
        on_unknown: UnknownPolicy::Rerun,
    }
}

/// Counts futures that are dropped before their end.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_lost_claim_cancels_the_handler_and_its_end_changes_nothing() {
    let (rig, clock) = Rig::with_clock();
    let (dropped, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counter, began) = (dropped.clone(), begun.clone());
    let handler = handler_fn(move |_| {
        let guard = Dropped(counter.clone());
        began.add_permits(1);
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok(Done::new())
        }
    });
    let mut policy = consumer("slow");
    policy.lease = short();
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    rig.receive(message("slow", "m-1", "hi")).await;
    begun.acquire().await.unwrap().forget();
    // The lease ends by the store's clock, and somebody else is faster than the next renewal.
    let stolen = eventually("a claim by somebody else", async || {
        clock.advance(Duration::from_secs(1));
        let claimed = rig.store.claim_batch(ask("slow")).await.unwrap();
        claimed.jobs.into_iter().next()
    });
    let stolen = stolen.await;
    assert!(stolen.reclaimed);
    let cancelled = async || (dropped.load(Ordering::SeqCst) > 0).then_some(());
    eventually("the handler is cancelled", cancelled).await;
    running.shutdown().await;
    let detail = rig.until(&identity("slow", "m-1"), State::InProgress).await;
    assert_eq!(detail.entry.worker.as_deref(), Some("thief"));
}

#[tokio::test]
async fn a_handler_that_takes_longer_than_its_lease_keeps_it() {
    let (rig, clock) = Rig::with_clock();
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waits, counter) = (gate.clone(), runs.clone());
    let handler = handler_fn(move |_| {
        let waits = waits.clone();
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            waits.acquire().await?.forget();
            Ok(Done::new())
        }
    });
    let mut policy = consumer("slow");
    policy.lease = short();
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    rig.receive(message("slow", "m-1", "hi")).await;
    let id = identity("slow", "m-1");
    rig.until(&id, State::InProgress).await;
    // Time goes on by two thirds of the lease, again and again, and each time it is renewed before it can end.
    for _ in 0..6 {
        clock.advance(short().get() * 2 / 3);
        let until = semel_core::Clock::now(&*clock).after(short().get());
        let renewed = async || {
            let entry = rig.store.message(id.clone()).await.unwrap().unwrap().entry;
            (entry.due_at == Some(until)).then_some(())
        };
        eventually("a renewal", renewed).await;
    }
    gate.add_permits(1);
    rig.until(&id, State::Completed).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    running.shutdown().await;
}

#[tokio::test]
async fn work_of_a_lost_worker_is_claimed_again_and_told_of() {
    let (rig, clock) = Rig::with_clock();
    rig.receive(message("mail", "m-1", "hi")).await;
    let lost = rig.store.claim_batch(ask("mail")).await.unwrap();
    assert_eq!(lost.jobs.len(), 1);
    clock.advance(Duration::from_secs(31));
    let handler = handler_fn(|ctx| async move { Ok(Done::with_body(ctx.attempt().to_string())) });
    let running = rig.engine().consumer(consumer("mail"), handler);
    let running = running.build().unwrap().start();
    let detail = rig.until(&identity("mail", "m-1"), State::Completed).await;
    assert_eq!(detail.settled.unwrap().outcome.body.kept().unwrap(), "2");
    assert_eq!(*rig.seen.reclaimed.lock().unwrap(), ["m-1"]);
    let repeated = rig.seen.repeated.lock().unwrap().clone();
    let origins: Vec<_> = repeated.iter().map(|one| one.origin).collect();
    assert_eq!(origins, [Origin::OwnReplay]);
    running.shutdown().await;
}

#[tokio::test]
async fn a_message_that_kills_every_worker_is_parked_unrun() {
    let (rig, clock) = Rig::with_clock();
    rig.receive(message("mail", "m-1", "hi")).await;
    for _ in 0..5 {
        let lost = rig.store.claim_batch(ask("mail")).await.unwrap();
        assert_eq!(lost.jobs.len(), 1);
        clock.advance(Duration::from_secs(31));
    }
    let handler = handler_fn(|_| async { panic!("it must not run") });
    let running = rig.engine().consumer(consumer("mail"), handler);
    let running = running.build().unwrap().start();
    let detail = rig.until(&identity("mail", "m-1"), State::Parked).await;
    let error = detail.entry.error.unwrap();
    assert!(error.contains("no attempt is left"), "{error}");
    running.shutdown().await;
}

/// An engine with one worker that has one message in its handler and four claimed ahead; its handler counts, and waits for the gate.
struct Ahead {
    running: Running,
    slow: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

async fn claimed_ahead(rig: &Rig, clock: Arc<ManualClock>, lease: LeaseTerm) -> Ahead {
    let (gate, slow) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waits, counter) = (gate.clone(), slow.clone());
    let handler = handler_fn(move |ctx| {
        let (waits, counter) = (waits.clone(), counter.clone());
        async move {
            if ctx.message().payload() == "slow" {
                counter.fetch_add(1, Ordering::SeqCst);
                waits.acquire().await?.forget();
            }
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mail");
    (policy.workers, policy.lease) = (1, lease);
    let engine = rig.engine().clock(clock).consumer(policy, handler);
    let running = engine.build().unwrap().start();
    // Fast handlers make the engine claim ahead; then a slow one holds up what is claimed.
    let fast = (0..50).map(|n| message("mail", &format!("fast-{n}"), "fast"));
    rig.receive_all(fast.collect()).await;
    let fifty = async || (rig.seen.finished.lock().unwrap().len() == 50).then_some(());
    eventually("50 attempts", fifty).await;
    let all = (0..5).map(|n| message("mail", &format!("slow-{n}"), "slow"));
    rig.receive_all(all.collect()).await;
    let claimed = async || {
        let counts = rig.store.counts().await.unwrap();
        let is_running = slow.load(Ordering::SeqCst) == 1;
        counts
            .iter()
            .find(|c| c.in_progress == 5 && is_running)
            .map(drop)
    };
    eventually("five are claimed", claimed).await;
    Ahead {
        running,
        slow,
        gate,
    }
}

#[tokio::test]
async fn a_process_that_stood_still_begins_nothing_under_a_lease_that_has_ended() {
    let (rig, clock) = Rig::with_clock();
    // Longer than the test takes, so that no renewal comes between: the process stands still.
    let lease = LeaseTerm::new(Duration::from_secs(600)).unwrap();
    let ahead = claimed_ahead(&rig, clock.clone(), lease).await;
    clock.advance(lease.get());
    // Another process runs what it finds.
    let mut theirs = ask("mail");
    theirs.max = 10;
    let jobs = rig.store.claim_batch(theirs).await.unwrap().jobs;
    assert_eq!(jobs.len(), 5);
    let ends = jobs.into_iter().map(|job| Finish {
        claim: job.claim,
        took: Duration::ZERO,
        disposition: Disposition::Completed {
            outcome: Outcome::succeeded(""),
            intents: Vec::new(),
        },
    });
    let plan = Plan::new("mail".parse().unwrap());
    rig.store.finish(plan, ends.collect()).await.unwrap();
    // It goes on: the one that had begun ends too late, and the others do not begin.
    ahead.gate.add_permits(10);
    let late = async || {
        let finished = rig.seen.finished.lock().unwrap();
        finished.iter().any(|(_, end)| end.late).then_some(())
    };
    eventually("one end came too late", late).await;
    ahead.running.shutdown().await;
    assert_eq!(ahead.slow.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn claims_that_have_not_begun_are_given_back_when_they_age() {
    let (rig, clock) = Rig::with_clock();
    let lease = LeaseTerm::new(Duration::from_secs(1)).unwrap();
    let ahead = claimed_ahead(&rig, clock, lease).await;
    let given_back = async || {
        let counts = rig.store.counts().await.unwrap();
        let ours = |c: &&semel_core::inbox::Counts| c.received == 4 && c.in_progress == 1;
        counts.iter().find(ours).map(drop)
    };
    eventually("four are given back while the first runs", given_back).await;
    ahead.gate.add_permits(10);
    for n in 0..5 {
        let id = identity("mail", &format!("slow-{n}"));
        rig.until(&id, State::Completed).await;
    }
    ahead.running.shutdown().await;
    assert_eq!(ahead.slow.load(Ordering::SeqCst), 5);
}
