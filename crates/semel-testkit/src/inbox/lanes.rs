//! The order of arrival, per lane.

use std::collections::BTreeMap;
use std::time::Duration;

use semel_core::inbox::{Action, Cause, Disposition, Finished, Message, OnTerminal, Order, State};
use tokio::task::JoinSet;

use super::seen::stored;
use super::subject::Subject;
use super::values::{AWHILE, SHORTLY, finish_of, id, key, only, parked, retry_after, terminal};

/// In order of arrival; what is behind a failure waits.
fn in_order(s: &Subject) -> Subject {
    let on_terminal = OnTerminal::Park;
    s.clone().ordered(Order::Arrival { on_terminal })
}

/// In order of arrival; what is behind a failure goes on.
fn going_on(s: &Subject) -> Subject {
    let on_terminal = OnTerminal::Advance;
    s.clone().ordered(Order::Arrival { on_terminal })
}

async fn lane_of(s: &Subject, ids: &[&str]) {
    s.stored(ids.iter().map(|id| s.in_lane("lane", id)).collect())
        .await;
}

/// People see which lanes wait, what holds them up, and how much waits behind it.
pub async fn a_lane_that_waits_says_what_holds_it_up(s: Subject) {
    let s = in_order(&s);
    assert_eq!(s.waiting_lanes().await, []);
    lane_of(&s, &["a", "b", "c"]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    s.stored(vec![s.message("alone").with_lane(key("free"))])
        .await;
    let lane = only(s.waiting_lanes().await);
    // Not the whole entry: behind a seal a list has the length that is stored.
    assert_eq!(lane.head.identity, s.identity("a"));
    assert_eq!(lane.head.state, State::FailedTerminal);
    assert_eq!(lane.waiting, 2);
    assert_eq!(lane.oldest, s.entry("b").await.received_at);
    s.operate(Action::Skip, &["a"]).await;
    let lane = only(s.waiting_lanes().await);
    assert_eq!(lane.head.identity, s.identity("b"));
    assert_eq!((lane.head.state, lane.waiting), (State::Received, 1));
    s.process_all().await;
    assert_eq!(s.waiting_lanes().await, []);
}

/// Nobody can overtake what nobody else can claim.
pub async fn only_the_head_of_a_lane_is_due(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a", "b", "c"]).await;
    for expected in ["a", "b", "c"] {
        let job = s.claim_one().await;
        assert_eq!(id(&job), expected);
        s.nothing_is_due().await;
        s.complete(&job).await;
    }
    s.nothing_is_due().await;
}

/// Lanes do not wait for each other, and what has none waits for nobody.
pub async fn lanes_do_not_wait_for_each_other(s: Subject) {
    let s = in_order(&s);
    let message = |lane: &str, id| s.message(id).with_lane(key(lane));
    let batch = vec![
        message("x", "x-1"),
        message("y", "y-1"),
        message("x", "x-2"),
        message("y", "y-2"),
        s.message("free-1"),
        s.message("free-2"),
    ];
    s.stored(batch).await;
    assert_eq!(s.claim_ids().await, ["x-1", "y-1", "free-1", "free-2"]);
}

/// A head that is to be tried again is still the head.
pub async fn a_retrying_head_is_not_overtaken(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a", "b"]).await;
    let head = s.claim_one().await;
    s.finish(&head, retry_after(SHORTLY)).await;
    s.nothing_is_due().await;
    s.pass(AWHILE).await;
    assert_eq!(s.process_all().await, ["a", "b"]);
}

/// What was given back unstarted keeps its place.
pub async fn a_returned_head_keeps_its_place(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a", "b"]).await;
    let head = s.claim_one().await;
    s.finish(&head, Disposition::Return).await;
    assert_eq!(s.process_all().await, ["a", "b"]);
}

/// A message whose worker was lost runs again before anything that came after it.
pub async fn fresh_messages_do_not_overtake_recovered_ones(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a"]).await;
    let old = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    lane_of(&s, &["b"]).await;
    let new = s.claim_one().await;
    assert_eq!(id(&new), "a");
    assert_eq!(s.complete(&old).await, Finished::Lost);
    s.nothing_is_due().await;
    s.complete(&new).await;
    assert_eq!(s.process_all().await, ["b"]);
}

/// Those behind a head that failed for good are parked, also those that come later.
pub async fn successors_are_parked_behind_a_failure(s: Subject) {
    for (lane, disposition) in [("failed", terminal()), ("parked", parked())] {
        let s = in_order(&s.beside(lane, 1));
        lane_of(&s, &["a", "b"]).await;
        let head = s.claim_one().await;
        s.finish(&head, disposition).await;
        let later = s.receive_one(s.in_lane("lane", "c")).await;
        assert_eq!(later, stored(State::Parked));
        for id in ["b", "c"] {
            s.is_parked(id, Cause::BehindFailed).await;
        }
        s.nothing_is_due().await;
        let elsewhere = s.message("d").with_lane(key("another"));
        s.stored(vec![elsewhere]).await;
        assert_eq!(s.process_all().await, ["d"]);
    }
}

/// Run again and done, the head lets the others go, in their order.
pub async fn a_retry_of_the_head_releases_those_behind_it(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a", "b", "c"]).await;
    let head = s.claim_one().await;
    s.finish(&head, terminal()).await;
    assert_eq!(
        s.operate(Action::Retry { new_key: false }, &["a"])
            .await
            .changed,
        1
    );
    assert_eq!(s.claim_ids().await, ["a"]);
    let s = in_order(&s.beside("-again", 1));
    lane_of(&s, &["a", "b", "c"]).await;
    let head = s.claim_one().await;
    s.finish(&head, parked()).await;
    s.operate(Action::Retry { new_key: false }, &["a"]).await;
    assert_eq!(s.process_all().await, ["a", "b", "c"]);
}

/// Passed over by hand, the head lets the others go.
pub async fn a_skip_of_the_head_releases_those_behind_it(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a", "b", "c"]).await;
    let head = s.claim_one().await;
    s.finish(&head, terminal()).await;
    assert_eq!(s.operate(Action::Skip, &["a"]).await.changed, 1);
    s.is("a", State::SkippedDuplicate).await;
    assert_eq!(s.process_all().await, ["b", "c"]);
}

/// What a person parks stops its lane, and unparked goes first.
pub async fn a_head_that_was_parked_by_hand_stops_its_lane(s: Subject) {
    let s = in_order(&s);
    lane_of(&s, &["a", "b"]).await;
    assert_eq!(s.operate(Action::Park, &["a"]).await.changed, 1);
    s.is_parked("a", Cause::Operator).await;
    s.is_parked("b", Cause::BehindFailed).await;
    s.nothing_is_due().await;
    s.operate(Action::Unpark, &["a"]).await;
    assert_eq!(s.process_all().await, ["a", "b"]);
}

/// By policy a lane goes on without what failed.
pub async fn a_lane_that_advances_goes_on_without_what_failed(s: Subject) {
    let s = going_on(&s);
    lane_of(&s, &["a", "b"]).await;
    let head = s.claim_one().await;
    s.finish(&head, terminal()).await;
    let job = s.claim_one().await;
    assert_eq!(id(&job), "b");
    lane_of(&s, &["c"]).await;
    s.nothing_is_due().await;
    s.complete(&job).await;
    assert_eq!(s.process_all().await, ["c"]);
    s.operate(Action::Retry { new_key: false }, &["a"]).await;
    assert_eq!(s.process_all().await, ["a"]);
}

/// Workers that claim and finish at the same time never run one lane's messages out of order.
pub async fn racing_workers_keep_the_order_of_every_lane(s: Subject) {
    const LANES: usize = 5;
    const EACH: usize = 12;
    let s = in_order(&s);
    let message = |n: usize| {
        let (lane, place) = (n % LANES, n / LANES);
        s.in_lane(&format!("lane-{lane}"), &format!("{lane}-{place:02}"))
    };
    for batch in (0..LANES * EACH).collect::<Vec<_>>().chunks(10) {
        s.stored(batch.iter().map(|n| message(*n)).collect()).await;
    }
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut workers = JoinSet::new();
    for worker in 0..4 {
        let (s, log) = (s.clone(), log.clone());
        workers.spawn(async move { work(&s, worker, LANES * EACH, &log).await });
    }
    workers.join_all().await;
    let log = log.lock().expect("no worker panicked").clone();
    assert_eq!(log.len(), LANES * EACH);
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for id in log {
        let lane = id[..1].to_owned();
        let before = last.insert(lane, id.clone());
        assert!(before.as_ref() < Some(&id), "{before:?} then {id}");
    }
}

/// Claims and finishes, now and then in another way than by completing, until the log has all messages.
async fn work(s: &Subject, worker: u64, all: usize, log: &std::sync::Mutex<Vec<String>>) {
    let mut random = crate::random::Random::new(worker + 7);
    while log.lock().expect("no worker panicked").len() < all {
        let mut items = Vec::new();
        for job in s.claim_as(s.ask(3)).await.jobs {
            let disposition = match random.below(5) {
                0 => retry_after(Duration::ZERO),
                1 => Disposition::Return,
                _ => {
                    log.lock().expect("no worker panicked").push(id(&job));
                    super::values::completed("done")
                }
            };
            items.push(finish_of(&job, disposition));
        }
        if items.is_empty() {
            tokio::task::yield_now().await;
            continue;
        }
        let finished = s.finish_all(items).await;
        assert!(finished.iter().all(|f| *f == Finished::Done));
    }
}

/// Receivers on several machines: whoever arrives later is behind, never beside.
pub async fn concurrent_arrivals_in_one_lane_run_one_at_a_time(s: Subject) {
    let s = in_order(&s);
    let mut receivers = JoinSet::new();
    for n in 0..12 {
        let s = s.clone();
        receivers.spawn(async move {
            let message: Message = s.in_lane("lane", &format!("m-{n}"));
            s.stored(vec![message]).await;
        });
    }
    receivers.join_all().await;
    for _ in 0..12 {
        let job = s.claim_one().await;
        s.nothing_is_due().await;
        s.complete(&job).await;
    }
    s.nothing_is_due().await;
}
