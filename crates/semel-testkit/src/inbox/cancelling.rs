//! Callers that go away in the middle of a call: it is done or not done, never half.

use std::time::Duration;

use semel_core::inbox::{Finished, Receipt, State};

use super::subject::Subject;
use super::values::{AWHILE, id};

const CALLS: u64 = 12;

fn ids() -> Vec<String> {
    (0..CALLS).map(|n| format!("m-{n:02}")).collect()
}

/// Lets a call run for a moment that grows with `n`, then drops it.
async fn cut_short<T>(n: usize, call: impl Future<Output = T>) {
    let moment = Duration::from_micros(100 * n as u64);
    drop(tokio::time::timeout(moment, call).await);
}

/// Delivered again, a message whose receive was cut short is there once.
pub async fn a_receive_that_is_cut_short_loses_nothing(s: Subject) {
    for (n, id) in ids().iter().enumerate() {
        cut_short(n, s.receive_one(s.message(id))).await;
    }
    for id in ids() {
        let receipt = s.receive_one(s.message(&id)).await;
        assert_ne!(receipt, Receipt::Conflict);
    }
    let mut done = s.process_all().await;
    done.sort_unstable();
    assert_eq!(done, ids());
}

/// What was claimed for a caller that has gone is claimable when its lease ends.
pub async fn a_claim_that_is_cut_short_holds_nothing_up(s: Subject) {
    s.stored(ids().iter().map(|id| s.message(id)).collect())
        .await;
    for n in 0..ids().len() {
        let mut ask = s.ask(1);
        ask.lease = super::values::short_lease();
        cut_short(n, s.claim_as(ask)).await;
    }
    // A call that was cut short may still be under way; none takes as long as this.
    s.pass(AWHILE).await;
    tokio::time::sleep(AWHILE).await;
    s.pass(AWHILE).await;
    let mut done = s.process_all().await;
    done.sort_unstable();
    assert_eq!(done, ids());
}

/// Asked again, an end that was cut short is done once.
pub async fn a_finish_that_is_cut_short_can_be_sent_again(s: Subject) {
    s.stored(ids().iter().map(|id| s.message(id)).collect())
        .await;
    let jobs = s.claim().await;
    for (n, job) in jobs.iter().enumerate() {
        cut_short(n, s.complete(job)).await;
    }
    for job in &jobs {
        assert_eq!(s.complete(job).await, Finished::Done, "{}", id(job));
        s.is(&id(job), State::Completed).await;
        assert_eq!(s.outcome(&id(job)).await, format!("done {}", id(job)));
    }
    s.nothing_is_due().await;
}
