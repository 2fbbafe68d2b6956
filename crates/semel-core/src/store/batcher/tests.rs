//! Batches as a store sees them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::*;
use crate::store::{BATCH_MAX, all, one};

#[derive(Debug, Clone)]
struct Ask {
    identity: Identity,
    number: u32,
    follows: bool,
    bytes: usize,
}

impl Item for Ask {
    type Answer = String;

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn follow(&self, later: &Self) -> Option<Follow<String>> {
        let number = later.number;
        later
            .follows
            .then(|| Box::new(move |first: &String| format!("{number} after {first}")) as _)
    }
}

fn ask(key: &str, number: u32) -> Ask {
    Ask {
        identity: Identity::parse("t", "s@1", key).unwrap(),
        number,
        follows: false,
        bytes: 0,
    }
}

/// A batcher whose round trips wait for a permit each, and what they carried.
type Seen = Arc<Mutex<Vec<Vec<u32>>>>;

fn gated(lanes: usize) -> (Arc<Batcher<Ask>>, Arc<Semaphore>, Seen) {
    let (gate, seen) = (Arc::new(Semaphore::new(0)), Seen::default());
    let (for_run, by_run) = (gate.clone(), seen.clone());
    let batcher = Batcher::new(lanes, 100, move |items: Batch<Ask>| {
        let numbers: Vec<u32> = items.iter().map(|item| item.number).collect();
        by_run.lock().unwrap().push(numbers.clone());
        let gate = for_run.clone();
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            numbers.iter().map(|n| Ok(n.to_string())).collect()
        })
    });
    (Arc::new(batcher), gate, seen)
}

async fn settle_down() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_come_during_a_round_trip_share_the_next() {
    let (batcher, gate, seen) = gated(1);
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..10 {
        let batcher = batcher.clone();
        calls.spawn(async move { batcher.call(one(ask(&format!("k{n}"), n))).await });
        if n == 0 {
            settle_down().await;
        }
    }
    settle_down().await;
    gate.add_permits(2);
    assert_eq!(calls.join_all().await.len(), 10);
    let sizes: Vec<usize> = seen.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 9]);
}

#[tokio::test(start_paused = true)]
async fn an_identity_is_in_a_batch_once_and_its_items_keep_their_order() {
    let (batcher, gate, seen) = gated(1);
    gate.add_permits(10);
    let items = vec![ask("a", 1), ask("b", 2), ask("a", 3), ask("a", 4)];
    assert_eq!(
        all(batcher.call(items.into()).await).unwrap(),
        ["1", "2", "3", "4"]
    );
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].len(), 2);
    assert_eq!(seen[1..], [vec![3], vec![4]]);
}

#[tokio::test(start_paused = true)]
async fn a_follower_needs_no_round_trip_and_overtakes_nobody() {
    let (batcher, gate, seen) = gated(1);
    gate.add_permits(10);
    let mut items = vec![ask("a", 1), ask("a", 2), ask("a", 3), ask("a", 4)];
    items[1].follows = true;
    items[3].follows = true;
    let answers = all(batcher.call(items.into()).await).unwrap();
    assert_eq!(answers, ["1", "2 after 1", "3", "4 after 3"]);
    assert_eq!(*seen.lock().unwrap(), [[1], [3]]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_ordered_by_digest() {
    let (batcher, gate, seen) = gated(1);
    gate.add_permits(1);
    let items: Vec<Ask> = (0..20).map(|n| ask(&format!("k{n}"), n)).collect();
    let mut expected: Vec<(Digest, u32)> = items
        .iter()
        .map(|item| (item.identity.digest(), item.number))
        .collect();
    expected.sort_unstable();
    all(batcher.call(items.into()).await).unwrap();
    let expected: Vec<u32> = expected.into_iter().map(|(_, n)| n).collect();
    assert_eq!(*seen.lock().unwrap(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_takes_nothing_from_the_others() {
    let (batcher, gate, _) = gated(1);
    let call = |key: &'static str, number| {
        let batcher = batcher.clone();
        tokio::spawn(async move { batcher.call(one(ask(key, number))).await })
    };
    let leaving = call("a", 1);
    settle_down().await;
    let staying = call("b", 2);
    settle_down().await;
    leaving.abort();
    gate.add_permits(1);
    assert_eq!(all(staying.await.unwrap()).unwrap(), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_is_not_asked() {
    let (batcher, gate, seen) = gated(1);
    let call = |key: &'static str, number| {
        let batcher = batcher.clone();
        tokio::spawn(async move { batcher.call(one(ask(key, number))).await })
    };
    let first = call("a", 1);
    settle_down().await;
    let (leaving, staying) = (call("b", 2), call("c", 3));
    settle_down().await;
    leaving.abort();
    settle_down().await;
    gate.add_permits(2);
    assert_eq!(all(first.await.unwrap()).unwrap(), ["1"]);
    assert_eq!(all(staying.await.unwrap()).unwrap(), ["3"]);
    assert_eq!(*seen.lock().unwrap(), [[1], [3]]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_round_trip_costs_its_callers_an_error_and_nobody_else() {
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = panics.clone();
    let batcher = Batcher::new(1, 10, move |items: Batch<Ask>| {
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        Box::pin(async move {
            assert!(!first, "on purpose");
            items
                .iter()
                .map(|item| Ok(item.number.to_string()))
                .collect()
        })
    });
    let items = vec![ask("a", 1), ask("b", 1)];
    let error = all(batcher.call(items.into()).await).unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    assert_eq!(all(batcher.call(one(ask("a", 2))).await).unwrap(), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn a_round_trip_carries_so_many_bytes_and_no_more() {
    let (batcher, gate, seen) = gated(1);
    gate.add_permits(10);
    let mut items: Vec<Ask> = (0..4).map(|n| ask(&format!("k{n}"), n)).collect();
    for (item, bytes) in items
        .iter_mut()
        .zip([BYTES_MAX * 2, BYTES_MAX / 2, BYTES_MAX / 2, 1])
    {
        item.bytes = bytes;
    }
    assert_eq!(
        all(batcher.call(items.into()).await).unwrap(),
        ["0", "1", "2", "3"]
    );
    let sizes: Vec<usize> = seen.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded() {
    let (batcher, gate, _) = gated(1);
    let mut full = tokio::task::JoinSet::new();
    for call in 0..WAITING_MAX / BATCH_MAX + 1 {
        let batcher = batcher.clone();
        let items = (0..BATCH_MAX).map(|n| ask(&format!("k{call}-{n}"), 0));
        let items: Batch<Ask> = items.collect();
        full.spawn(async move { batcher.call(items).await });
    }
    settle_down().await;
    let over = (0..200).map(|n| ask(&format!("over{n}"), 0)).collect();
    let refused = batcher.call(over).await;
    assert!(
        refused
            .iter()
            .all(|answer| { matches!(answer, Err(error) if error.kind() == Kind::Limit) })
    );
    gate.add_permits(2 * WAITING_MAX);
    let answers = full.join_all().await;
    let heard = answers.iter().flatten().filter(|answer| answer.is_ok());
    assert!(heard.count() >= WAITING_MAX);
}

/// A batcher whose server holds the record of `held`: round trips say so, and alone it is answered when the gate opens.
fn with_held(held: &'static str) -> (Arc<Batcher<Ask>>, Arc<Semaphore>, Seen, Seen) {
    let (gate, shared, apart) = (
        Arc::new(Semaphore::new(0)),
        Seen::default(),
        Seen::default(),
    );
    let (for_apart, by_apart, by_shared) = (gate.clone(), apart.clone(), shared.clone());
    let numbers = |items: &Batch<Ask>| items.iter().map(|item| item.number).collect::<Vec<_>>();
    let batcher = Batcher::new(1, 100, move |items: Batch<Ask>| {
        by_shared.lock().unwrap().push(numbers(&items));
        let answer = move |item: &Ask| match item.identity.key().as_str() == held {
            true => Err(Error::new(Kind::Locked, "held")),
            false => Ok(item.number.to_string()),
        };
        Box::pin(async move { items.iter().map(answer).collect() })
    })
    .with_apart(2, move |items: Batch<Ask>| {
        by_apart.lock().unwrap().push(numbers(&items));
        let gate = for_apart.clone();
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            items
                .iter()
                .map(|item| Ok(item.number.to_string()))
                .collect()
        })
    });
    (Arc::new(batcher), gate, shared, apart)
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_locked_waits_apart_and_the_rest_is_answered() {
    let (batcher, gate, shared, apart) = with_held("held");
    let call = |key: &str, number, follows| {
        let (batcher, mut item) = (batcher.clone(), ask(key, number));
        item.follows = follows;
        tokio::spawn(async move { all(batcher.call(one(item)).await).unwrap() })
    };
    let alone = call("held", 1, false);
    settle_down().await;
    // From here on its operation is known: its callers try no batch, and share one try.
    let later = [call("held", 2, true), call("held", 3, true)];
    let others: Vec<_> = (10..74).map(|n| call(&format!("k{n}"), n, false)).collect();
    for (n, other) in (10..74).zip(others) {
        assert_eq!(other.await.unwrap(), [n.to_string()]);
    }
    let in_batch = vec![ask("x", 80), ask("y", 81)];
    assert_eq!(
        all(batcher.call(in_batch.into()).await).unwrap(),
        ["80", "81"]
    );
    gate.add_permits(2);
    assert_eq!(alone.await.unwrap(), ["1"]);
    let [two, three] = later;
    let mut both = [two.await.unwrap(), three.await.unwrap()].concat();
    both.sort();
    assert_eq!(both, ["2", "3 after 2"]);
    let tried = shared
        .lock()
        .unwrap()
        .iter()
        .flatten()
        .filter(|n| **n < 10)
        .count();
    assert_eq!(tried, 1, "only the first tried with the others");
    assert_eq!(apart.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_batch_gives_its_locked_item_away_with_its_followers_and_forgets_it_when_it_is_free() {
    let (batcher, gate, shared, apart) = with_held("held");
    let mut items = vec![ask("a", 1), ask("held", 2), ask("held", 3), ask("b", 4)];
    items[2].follows = true;
    let waiting = tokio::spawn({
        let batcher = batcher.clone();
        async move { all(batcher.call(items.into()).await).unwrap() }
    });
    settle_down().await;
    assert_eq!(*apart.lock().unwrap(), [[2]]);
    gate.add_permits(1);
    assert_eq!(waiting.await.unwrap(), ["1", "2", "3 after 2", "4"]);
    // It was answered, so the next one tries with the others again.
    let before = shared.lock().unwrap().len();
    gate.add_permits(1);
    assert_eq!(all(batcher.call(one(ask("held", 5))).await).unwrap(), ["5"]);
    assert_eq!(shared.lock().unwrap().len(), before + 1);
}
