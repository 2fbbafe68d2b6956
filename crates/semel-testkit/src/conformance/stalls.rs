//! Replays beside writers: under load on every store, and beside writers that are held up where a test can do that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use semel_core::store::SettleAnswer;
use tokio::task::JoinSet;

use super::subject::{Subject, body, replayed, retention};

/// Rule 7, with writers at work: a replay is answered in the middle of their writes, and never with an error.
pub async fn replays_are_answered_while_writers_are_at_work(s: Subject) {
    const WRITERS: usize = 8;
    s.settled("kept", "kept").await;
    let stop = Arc::new(AtomicBool::new(false));
    let under_way = Arc::new(AtomicUsize::new(0));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (s, stop, under_way) = (s.clone(), stop.clone(), under_way.clone());
        writers.spawn(async move {
            for written in 0.. {
                under_way.fetch_add(1, Ordering::SeqCst);
                s.settled(&format!("w-{writer}-{written}"), "written").await;
                under_way.fetch_sub(1, Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    while under_way.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let mut beside_writes = 0;
    for _ in 0..100 {
        assert_eq!(replayed(&s.claim("kept").await), b"kept");
        assert_eq!(body(&s.look_up("kept").await.expect("a record")), b"kept");
        beside_writes += usize::from(under_way.load(Ordering::SeqCst) > 0);
    }
    stop.store(true, Ordering::SeqCst);
    writers.join_all().await;
    assert!(beside_writes > 0, "no replay was answered during a write");
}

/// Rule 7, with a writer that stands still: replays and look-ups do not wait for it.
pub async fn replays_do_not_wait_for_a_stalled_writer(s: Subject) {
    s.settled("kept", "kept").await;
    let claim = s.granted_for_long("held").await.claim;
    let stall = s.stall().await;
    let settling = tokio::spawn({
        let (s, claim) = (s.clone(), claim.clone());
        async move { s.try_settle(&claim, "held up", retention()).await }
    });
    for _ in 0..20 {
        assert_eq!(replayed(&s.claim("kept").await), b"kept");
        assert_eq!(body(&s.look_up("kept").await.expect("a record")), b"kept");
        assert_eq!(s.state("held").await, "running");
    }
    drop(stall);
    let settled = settling.await.expect("the writer ends");
    // A store may give up on a write that was held up; sent again, it is settled.
    if settled.is_err() {
        assert_eq!(s.settle(&claim, "held up").await, SettleAnswer::Settled);
    }
    assert_eq!(replayed(&s.claim("held").await), b"held up");
}
