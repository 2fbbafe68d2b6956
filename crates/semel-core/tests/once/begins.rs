//! Nothing begins under a lease that has ended by the time it begins.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use semel_core::once::{BatchItem, Run};
use semel_core::store::{Layer, StoreExt};
use semel_core::{Fingerprint, Identity, MemoryStore, OnFailure, Once, Record, State, Store};

use crate::support::faulty::Fault;
use crate::support::{
    Effects, FaultyStore, Ran, Verb, identity, lease, operation, record, state, store,
};

const LEASE_MS: u64 = 100;

/// The whole process stands still: time goes on, but no timer and no other task gets a turn.
async fn stall() {
    let mut advance = Box::pin(tokio::time::advance(Duration::from_millis(3 * LEASE_MS)));
    // The first poll moves the clock; what `advance` does after that is to let others have their turn.
    poll_fn(|cx| {
        let _ = advance.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

/// Whether the lease of `run` is alive by the store's own word.
async fn is_alive(store: &FaultyStore, run: &Run) -> bool {
    let found = record(store.beneath(), run.claim().identity.key().as_str()).await;
    found.is_some_and(|record| {
        record.fence == run.fence()
            && matches!(record.state, State::Running { lease_until } if lease_until > store.beneath().now())
    })
}

fn item(key: &str) -> BatchItem<String> {
    BatchItem {
        identity: identity(key),
        fingerprint: Fingerprint::none(),
        input: key.to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_whose_lease_ended_in_a_stall_before_its_turn_is_claimed_again_before_it_runs() {
    let store = store();
    let once = Once::on(store.clone()).with_policy(lease(LEASE_MS));
    let begun = Arc::new(Mutex::new(Vec::new()));
    let run = {
        let (store, begun) = (store.clone(), begun.clone());
        move |run: Run, key: String| {
            let (store, begun) = (store.clone(), begun.clone());
            async move {
                let alive = is_alive(&store, &run).await;
                begun.lock().unwrap().push((key.clone(), alive));
                if key == "first" {
                    stall().await;
                }
                Ok::<_, String>(1)
            }
        }
    };
    let items = vec![item("first"), item("second")];
    let answers = once
        .run_batch(items, 1, |_: &String| OnFailure::Keep, run)
        .await;
    assert!(answers[1].is_ok(), "{:?}", answers[1]);
    let expected = [("first".to_owned(), true), ("second".to_owned(), true)];
    assert_eq!(*begun.lock().unwrap(), expected);
    assert_eq!(state(store.beneath(), "second").await, "succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_function_is_not_called_if_the_process_stood_still_just_before() {
    let store = store();
    let once = Once::on(store.clone()).with_policy(lease(LEASE_MS));
    let function = {
        let store = store.clone();
        async move |run: Run| Ok::<_, String>(is_alive(&store, &run).await)
    };
    let call = operation(&once, "k").run(function);
    // The stall gets its turn after the claim's owner was started and before the function's task is.
    let stalled = async { drop(tokio::spawn(stall())) };
    let (answer, ()) = tokio::join!(call, stalled);
    let answer = answer.unwrap();
    assert!(answer.value, "it began under a lease that had ended");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_not_begun_is_given_back_though_its_lease_has_ended() {
    let store = store();
    store.set(
        Verb::Claim,
        Fault::Slow(Duration::from_millis(2 * LEASE_MS)),
    );
    let once = Once::on(store.clone()).with_policy(lease(LEASE_MS));
    let effects = Effects::default();
    let call = {
        let effects = effects.clone();
        tokio::spawn(operation(&once, "k").run(async move |_| Ok::<_, String>(effects.happen())))
    };
    store.called(Verb::Claim, 1).await;
    // The caller leaves, so no claim follows the late grant.
    call.abort();
    assert_eq!(once.drain(Duration::from_secs(10)).await, 0);
    assert_eq!(state(store.beneath(), "k").await, "absent");
    assert_eq!(effects.count(), 0);
}

/// Has a settled record in memory that the store beneath does not have.
#[derive(Debug)]
struct Remembers {
    store: Arc<FaultyStore>,
    record: Arc<Record>,
}

impl Layer for Remembers {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn cached(&self, identity: &Identity, _: Fingerprint) -> Option<Arc<Record>> {
        (*identity == self.record.identity).then(|| self.record.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_a_batch_was_granted_is_not_left_behind_for_a_cache_hit() {
    let elsewhere = Arc::new(MemoryStore::new());
    let _: Ran = operation(&Once::on(elsewhere.clone()), "k")
        .run(async |_| Ok(1))
        .await;
    let record = elsewhere.look_up_one(identity("k")).await.unwrap().unwrap();
    let store = store();
    let layer = Remembers {
        store: store.clone(),
        record,
    };
    let once = Once::new(layer);
    let run = |_: Run, _: String| async { Ok::<_, String>(2) };
    let answers = once
        .run_batch(vec![item("k")], 1, |_: &String| OnFailure::Keep, run)
        .await;
    assert!(answers[0].is_ok(), "{:?}", answers[0]);
    assert_ne!(state(store.beneath(), "k").await, "running");
}
