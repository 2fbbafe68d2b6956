//! Erasure among processes that know the key: nothing is sealed under a key that is gone, and nothing of the new one is taken for erased.

use std::sync::Arc;
use std::time::Duration;

use semel_core::store::{Actor, Query, Reason};
use semel_core::{ManualClock, MemoryStore, Retention, Store, Tenant, Timestamp};
use semel_seal::{Erased, KEY_AGE_MAX, Keyring, RETIRES_FOR, Sealed, When};
use tokio::time::advance;

use crate::support::{keks, of, outcome, replayed, settle, settle_for};

/// A process of its own on the store.
fn process(store: &Arc<MemoryStore>, ids: &[&str]) -> (Keyring, Sealed) {
    let ring = Keyring::new(store.clone(), keks(ids)).unwrap();
    let layer = Sealed::new(store.clone(), ring.clone());
    (ring, layer)
}

async fn erase(ring: &Keyring, when: When) -> Erased {
    let (ann, by) = (Tenant::new("ann").unwrap(), Actor::new("dana").unwrap());
    let reason = Reason::new("asked to").unwrap();
    ring.erase(&ann, &by, &reason, when).await.unwrap()
}

async fn body(layer: &Sealed, key: &str) -> Option<String> {
    let found = replayed(layer, &of("ann", key)).await.unwrap();
    let body = found.body.kept()?;
    Some(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn no_process_seals_under_a_key_when_it_is_destroyed() {
    let store = Arc::new(MemoryStore::new());
    let ((here, layer), (_, other)) = (process(&store, &["a"]), process(&store, &["a"]));
    settle(&layer, &of("ann", "before"), outcome("before")).await;
    assert_eq!(body(&other, "before").await.as_deref(), Some("before"));

    let erasing = tokio::spawn(async move { erase(&here, When::Retired).await });
    tokio::task::yield_now().await;
    // The other process believes what it knows for so long. Then it seals under the next key, while the first one still opens.
    advance(KEY_AGE_MAX).await;
    assert!(!erasing.is_finished());
    settle(&other, &of("ann", "meanwhile"), outcome("meanwhile")).await;
    assert_eq!(body(&other, "before").await.as_deref(), Some("before"));

    advance(RETIRES_FOR).await;
    let erased = erasing.await.unwrap();
    assert!(matches!(erased, Erased::Forgotten { .. }));
    advance(KEY_AGE_MAX).await;
    for layer in [&layer, &other] {
        assert_eq!(body(layer, "before").await, None);
        assert_eq!(body(layer, "meanwhile").await.as_deref(), Some("meanwhile"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_sealed_under_a_new_key_is_not_taken_for_erased_by_a_process_that_knows_the_old_one()
 {
    let store = Arc::new(MemoryStore::new());
    let ((here, layer), (_, other)) = (process(&store, &["a"]), process(&store, &["a"]));
    settle(&layer, &of("ann", "old"), outcome("old")).await;
    assert!(body(&other, "old").await.is_some());
    // Again and again: the slots take turns.
    for round in ["one", "two", "three"] {
        erase(&here, When::Now).await;
        settle(&layer, &of("ann", round), outcome("new")).await;
        assert_eq!(body(&other, round).await.as_deref(), Some("new"), "{round}");
    }
    assert_eq!(body(&other, "one").await, None);
}

#[tokio::test]
async fn a_key_whose_record_is_not_kept_for_long_any_more_is_followed_by_another() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    let years = |years: u32| clock.advance(Duration::from_secs(365 * 24 * 60 * 60) * years);
    for year in 0..14 {
        let retention = Retention::delete_after(Duration::from_secs(4 * 365 * 24 * 60 * 60));
        let key = year.to_string();
        let (_, layer) = process(&store, &["a"]);
        settle_for(&layer, &of("ann", &key), outcome("k"), retention.unwrap()).await;
        years(1);
        // What is kept is readable, whichever key it has.
        let (_, other) = process(&store, &["a"]);
        for kept in (year - 2).max(0)..=year {
            let key = kept.to_string();
            assert_eq!(body(&other, &key).await.as_deref(), Some("k"), "{year}");
        }
        while store.sweep(100).await.unwrap().deleted > 0 {}
    }
}

#[tokio::test(start_paused = true)]
async fn an_erasure_that_broke_off_is_finished_by_another() {
    let store = Arc::new(MemoryStore::new());
    let (ring, layer) = process(&store, &["a"]);
    settle(&layer, &of("ann", "k"), outcome("k")).await;
    let begun = tokio::time::timeout(Duration::from_secs(1), erase(&ring, When::Retired)).await;
    assert!(begun.is_err());
    // Until then it retires: what comes has another key, and all of it is readable.
    settle(&layer, &of("ann", "l"), outcome("l")).await;
    assert_eq!(body(&layer, "k").await.as_deref(), Some("k"));
    erase(&ring, When::Retired).await;
    assert_eq!(body(&layer, "k").await, None);
    assert_eq!(erase(&ring, When::Now).await, Erased::NoKey);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_key_that_was_wrapped_anew() {
    let store = Arc::new(MemoryStore::new());
    let (_, layer) = process(&store, &["a"]);
    settle(&layer, &of("ann", "k"), outcome("k")).await;
    let (ring, _) = process(&store, &["b", "a"]);
    assert_eq!(ring.rotate(None, 10).await.unwrap().wrapped, 1);
    let kept = || async {
        let query = Query {
            scope: Some("semel:data-key@1".to_owned()),
            ..Query::default()
        };
        store.list(query).await.unwrap().records.len()
    };
    // The mark of the store, the key, and the key wrapped anew.
    assert_eq!(kept().await, 3);
    erase(&ring, When::Now).await;
    assert_eq!(kept().await, 1);
    let again = ring.rotate(None, 10).await.unwrap();
    assert_eq!((again.wrapped, again.pending), (0, 0));
    assert_eq!(kept().await, 1);
}
