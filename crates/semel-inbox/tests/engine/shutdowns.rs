//! The good end of an engine, and two engines on one inbox.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use semel_core::inbox::{ClaimBatch, Plan, State, UnknownPolicy, WorkerName};
use semel_core::{Inbox, LeaseTerm};
use semel_inbox::{Done, Settings, handler_fn};
use tokio::sync::Semaphore;

use crate::support::{Rig, consumer, eventually, identity, message};

#[tokio::test]
async fn what_was_not_begun_is_returned_and_may_run_elsewhere_at_once() {
    let rig = Rig::new();
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (waits, began) = (gate.clone(), begun.clone());
    let handler = handler_fn(move |ctx| {
        let (waits, began) = (waits.clone(), began.clone());
        async move {
            if ctx.message().payload() == "slow" {
                began.add_permits(1);
                waits.acquire().await?.forget();
            }
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mail");
    policy.workers = 1;
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    // Fast handlers make the engine claim ahead; then a slow one holds up what is claimed.
    for n in 0..50 {
        rig.receive(message("mail", &format!("fast-{n}"), "fast"))
            .await;
    }
    let fifty = async || (rig.seen.finished.lock().unwrap().len() == 50).then_some(());
    eventually("50 attempts", fifty).await;
    let slow = (0..5).map(|n| message("mail", &format!("slow-{n}"), "slow"));
    rig.receive_all(slow.collect()).await;
    begun.acquire().await.unwrap().forget();
    let claimed_ahead = async || {
        let counts = rig.store.counts().await.unwrap();
        counts.iter().find(|c| c.in_progress == 5).map(drop)
    };
    eventually("five are claimed", claimed_ahead).await;
    let stopped = tokio::spawn(running.shutdown());
    let returned = async || {
        let counts = rig.store.counts().await.unwrap();
        counts.iter().find(|c| c.received == 4).map(drop)
    };
    eventually("four are returned", returned).await;
    let ask = ClaimBatch {
        plan: Plan::new("mail".parse().unwrap()),
        worker: WorkerName::new("other").unwrap(),
        max: 10,
        bytes_max: usize::MAX,
        lease: LeaseTerm::default(),
        on_unknown: UnknownPolicy::Rerun,
    };
    let elsewhere = rig.store.claim_batch(ask).await.unwrap().jobs;
    assert_eq!(elsewhere.len(), 4);
    // What was not begun does not count as an attempt.
    assert!(
        elsewhere
            .iter()
            .all(|job| job.attempt == 1 && !job.reclaimed)
    );
    assert!(!stopped.is_finished());
    gate.add_permits(1);
    stopped.await.unwrap();
    let finished = rig.seen.finished.lock().unwrap().len();
    assert_eq!(finished, 51);
}

#[tokio::test]
async fn handlers_that_do_not_finish_in_time_are_left_to_their_leases() {
    let rig = Rig::new();
    let begun = Arc::new(Semaphore::new(0));
    let began = begun.clone();
    let handler = handler_fn(move |_| {
        began.add_permits(1);
        async { std::future::pending().await }
    });
    let engine = rig.engine().settings(Settings {
        drain: Duration::from_millis(10),
        ..Settings::default()
    });
    let running = engine.consumer(consumer("mail"), handler).build().unwrap();
    let running = running.start();
    rig.receive(message("mail", "m-1", "hi")).await;
    begun.acquire().await.unwrap().forget();
    running.shutdown().await;
    rig.until(&identity("mail", "m-1"), State::InProgress).await;
}

#[tokio::test]
async fn two_engines_share_one_inbox_and_run_each_message_once() {
    let rig = Rig::new();
    let runs: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
    let gate = Arc::new(Semaphore::new(0));
    let engines: Vec<_> = (0..2)
        .map(|engine| {
            let (runs, gate) = (runs.clone(), gate.clone());
            let handler = handler_fn(move |ctx| {
                let (runs, gate) = (runs.clone(), gate.clone());
                async move {
                    let id = ctx.message().identity().key().to_string();
                    runs.lock().unwrap().push((engine, id));
                    gate.acquire().await?.forget();
                    Ok(Done::new())
                }
            });
            let mut policy = consumer("mail");
            policy.workers = 4;
            rig.engine()
                .consumer(policy, handler)
                .build()
                .unwrap()
                .start()
        })
        .collect();
    for n in 0..200 {
        rig.receive(message("mail", &format!("m-{n}"), "hi")).await;
    }
    // Both have all hands full before the first one may finish.
    let both = async || (runs.lock().unwrap().len() == 8).then_some(());
    eventually("both engines are busy", both).await;
    gate.add_permits(200);
    let all = async || (rig.seen.finished.lock().unwrap().len() == 200).then_some(());
    eventually("200 attempts", all).await;
    for engine in engines {
        engine.shutdown().await;
    }
    let runs = runs.lock().unwrap();
    let mut ids: Vec<_> = runs.iter().map(|(_, id)| id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), runs.len()), (200, 200));
    assert!((0..2).all(|engine| runs.iter().any(|(ran, _)| *ran == engine)));
}

#[tokio::test]
async fn an_engine_that_is_dropped_leaves_its_work_to_others() {
    let (rig, clock) = Rig::with_clock();
    let runs = Arc::new(AtomicUsize::new(0));
    let begun = Arc::new(Semaphore::new(0));
    let (counter, began) = (runs.clone(), begun.clone());
    let stuck = handler_fn(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        began.add_permits(1);
        async { std::future::pending().await }
    });
    let mut policy = consumer("mail");
    policy.lease = LeaseTerm::default();
    let first = rig.engine().consumer(policy, stuck);
    let first = first.build().unwrap().start();
    rig.receive(message("mail", "m-1", "hi")).await;
    begun.acquire().await.unwrap().forget();
    drop(first);
    // Whatever it had asked of the store before its end is done before this.
    rig.receive(message("other", "barrier", "")).await;
    clock.advance(Duration::from_secs(31));
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let second = rig.engine().consumer(consumer("mail"), handler);
    let second = second.build().unwrap().start();
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    second.shutdown().await;
}
