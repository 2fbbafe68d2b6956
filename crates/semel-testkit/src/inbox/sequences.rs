//! Aggregate versions: older ones are skipped, the next one runs, later ones wait.

use semel_core::inbox::order::GapThen;
use semel_core::inbox::{Action, Baseline, Cause, Finished, Gap, OnGap, OnTerminal, Order, State};
use tokio::task::JoinSet;

use super::claiming::woken;
use super::seen::{duplicate, stored};
use super::subject::Subject;
use super::values::{AWHILE, LONG, SHORTLY, id, key, only, retry_after, terminal};

/// By sequence, under these rules.
fn by_sequence(s: &Subject, baseline: Baseline, on_gap: OnGap, on_terminal: OnTerminal) -> Subject {
    s.clone().ordered(Order::Sequence {
        baseline,
        on_gap,
        on_terminal,
    })
}

/// What waits for a version waits for long.
const PATIENT: OnGap = OnGap {
    deadline: LONG,
    then: GapThen::Hold,
};

fn first_seen(s: &Subject) -> Subject {
    by_sequence(s, Baseline::FirstSeen, PATIENT, OnTerminal::Park)
}

fn after(s: &Subject, done: u64) -> Subject {
    by_sequence(s, Baseline::After(done), PATIENT, OnTerminal::Park)
}

fn impatient(s: &Subject, then: GapThen) -> Subject {
    let deadline = SHORTLY;
    let on_gap = OnGap { deadline, then };
    by_sequence(s, Baseline::After(0), on_gap, OnTerminal::Park)
}

async fn arrive(s: &Subject, versions: &[u64]) -> Vec<State> {
    let messages = versions.iter().map(|v| s.version("a", *v)).collect();
    let receipts = s.receive(messages).await;
    let states = receipts.into_iter().map(|receipt| match receipt {
        semel_core::inbox::Receipt::Stored { state } => state,
        other => panic!("expected a new message, found {other:?}"),
    });
    states.collect()
}

const DUE: State = State::Received;
const PARKED: State = State::Parked;
const OLDER: State = State::SkippedDuplicate;

/// An older version says nothing new: it is passed over, and a duplicate of it too.
pub async fn an_older_version_is_skipped(s: Subject) {
    let s = first_seen(&s);
    arrive(&s, &[42]).await;
    assert_eq!(s.process_all().await, ["a-42"]);
    assert_eq!(arrive(&s, &[41]).await, [OLDER]);
    assert_eq!(s.state("a-41").await, (OLDER, Some(Cause::OlderVersion)));
    let record = s.record("a-41").await.expect("a record");
    assert!(matches!(record.state, semel_core::State::Settled(_)));
    let again = s.receive_one(s.version("a", 41)).await;
    assert_eq!(again, duplicate(OLDER));
    s.nothing_is_due().await;
}

/// The next version runs, as soon as the one before it is done.
pub async fn the_next_version_runs(s: Subject) {
    let s = first_seen(&s);
    arrive(&s, &[7]).await;
    let job = s.claim_one().await;
    assert_eq!(arrive(&s, &[8, 9]).await, [DUE, DUE]);
    s.nothing_is_due().await;
    s.complete(&job).await;
    assert_eq!(s.process_all().await, ["a-8", "a-9"]);
}

/// A version that came too early waits, and goes on by itself when the missing one is done.
pub async fn a_gap_is_parked_and_released_by_itself(s: Subject) {
    let s = first_seen(&s);
    arrive(&s, &[1]).await;
    s.process_all().await;
    assert_eq!(arrive(&s, &[3]).await, [PARKED]);
    s.is_parked("a-3", Cause::Gap).await;
    s.nothing_is_due().await;
    assert_eq!(arrive(&s, &[2]).await, [DUE]);
    assert_eq!(s.process().await, ["a-2"]);
    s.is("a-3", DUE).await;
    assert_eq!(s.process_all().await, ["a-3"]);
}

/// Whatever the order of arrival, versions run in their order, each once.
pub async fn several_gaps_are_filled_in_order(s: Subject) {
    let s = after(&s, 0);
    for version in [9, 4, 2, 7, 5, 1, 8, 6, 3] {
        arrive(&s, &[version]).await;
    }
    let expected: Vec<String> = (1..=9).map(|n| format!("a-{n}")).collect();
    assert_eq!(s.process_all().await, expected);
    s.nothing_is_due().await;
}

/// A batch behaves as its messages would one after another.
pub async fn versions_may_arrive_out_of_order_in_one_batch(s: Subject) {
    let s = after(&s, 0);
    let states = arrive(&s, &[3, 1, 2, 5]).await;
    assert_eq!(states, [PARKED, DUE, DUE, PARKED]);
    assert_eq!(s.process_all().await, ["a-1", "a-2", "a-3"]);
    s.is_parked("a-5", Cause::Gap).await;
}

/// Without a baseline whatever comes first is the beginning, also zero.
pub async fn the_first_version_seen_is_the_beginning(s: Subject) {
    let s = first_seen(&s);
    let first = |lane: &str, version| s.version(lane, version);
    s.stored(vec![first("x", 7), first("y", 0)]).await;
    assert_eq!(s.process_all().await, ["x-7", "y-0"]);
    let receipts = s
        .receive(vec![first("x", 6), first("x", 8), first("y", 1)])
        .await;
    let due = stored(DUE);
    assert_eq!(receipts, [stored(OLDER), due, due]);
}

/// With a baseline the version after it is the first to run, and none is skipped in silence.
pub async fn a_baseline_decides_what_comes_first(s: Subject) {
    let s = after(&s, 5);
    assert_eq!(arrive(&s, &[7, 3, 6]).await, [PARKED, OLDER, DUE]);
    assert_eq!(s.process_all().await, ["a-6", "a-7"]);
}

/// Two events that claim to be one version: the second waits and is then older.
pub async fn the_same_version_under_two_ids_runs_once(s: Subject) {
    let s = first_seen(&s);
    arrive(&s, &[1]).await;
    let twin = s.in_lane("a", "twin").with_sequence(1).expect("valid");
    s.stored(vec![twin]).await;
    assert_eq!(s.process().await, ["a-1"]);
    s.nothing_is_due().await;
    assert_eq!(s.state("twin").await, (OLDER, Some(Cause::OlderVersion)));
    arrive(&s, &[2]).await;
    assert_eq!(s.process_all().await, ["a-2"]);
}

/// Aggregates do not wait for each other, and what has no version waits for nobody.
pub async fn lanes_by_sequence_are_apart(s: Subject) {
    let s = after(&s, 0);
    let batch = vec![
        s.version("a", 2),
        s.version("b", 1),
        s.in_lane("a", "without"),
        s.message("bare"),
    ];
    let receipts = s.receive(batch).await;
    let due = stored(DUE);
    assert_eq!(receipts, [stored(PARKED), due, due, due]);
    assert_eq!(s.process_all().await, ["b-1", "without", "bare"]);
}

/// A version that is to be tried again holds the later ones.
pub async fn a_retrying_version_is_not_overtaken(s: Subject) {
    let s = after(&s, 0);
    arrive(&s, &[1, 2]).await;
    let job = s.claim_one().await;
    s.finish(&job, retry_after(SHORTLY)).await;
    s.nothing_is_due().await;
    s.pass(AWHILE).await;
    assert_eq!(s.process_all().await, ["a-1", "a-2"]);
}

/// Out of patience under hold, it stays parked for a person and is still released by itself.
pub async fn a_gap_past_its_deadline_is_held(s: Subject) {
    let s = impatient(&s, GapThen::Hold);
    arrive(&s, &[2]).await;
    s.is_parked("a-2", Cause::Gap).await;
    s.pass(AWHILE).await;
    assert_eq!(s.advance_lanes().await, 1);
    s.is_parked("a-2", Cause::GapExpired).await;
    assert_eq!(s.advance_lanes().await, 0);
    s.nothing_is_due().await;
    arrive(&s, &[1]).await;
    assert_eq!(s.process_all().await, ["a-1", "a-2"]);
}

/// By policy the lane goes on as if the missing versions had been applied; they are older when they come.
pub async fn a_gap_past_its_deadline_is_passed_over(s: Subject) {
    let s = impatient(&s, GapThen::Advance);
    arrive(&s, &[3, 4, 7]).await;
    let mut wake_up = s.inbox().wake_up(s.consumer());
    s.pass(AWHILE).await;
    assert!(s.advance_lanes().await >= 1);
    woken(&mut wake_up).await;
    let job = s.claim_one().await;
    assert_eq!(id(&job), "a-3");
    assert_eq!(arrive(&s, &[1]).await, [OLDER]);
    s.complete(&job).await;
    // What waits behind the first gap may have waited long enough for the next one too, or wait for it anew.
    let mut rest = s.process_all().await;
    s.pass(AWHILE).await;
    s.advance_lanes().await;
    rest.extend(s.process_all().await);
    assert_eq!(rest, ["a-4", "a-7"]);
}

/// Patience is counted from arrival: before the deadline nothing moves.
pub async fn a_gap_before_its_deadline_is_left_alone(s: Subject) {
    let s = after(&s, 0);
    arrive(&s, &[2]).await;
    assert_eq!(s.advance_lanes().await, 0);
    s.is_parked("a-2", Cause::Gap).await;
}

/// Housekeeping takes bounded steps.
pub async fn housekeeping_takes_bounded_steps(s: Subject) {
    let s = impatient(&s, GapThen::Hold);
    let lanes = (0..5).map(|n| s.version(&format!("lane-{n}"), 2)).collect();
    s.receive(lanes).await;
    s.pass(AWHILE).await;
    let mut steps = Vec::new();
    for _ in 0..4 {
        let advanced = s.inbox().advance_lanes(s.plan().clone(), 2).await;
        steps.push(advanced.expect("an answer"));
    }
    assert_eq!(steps, [2, 2, 1, 0]);
}

/// People see which versions are missing, since when they matter, and how much waits for them.
pub async fn a_gap_says_which_versions_are_missing(s: Subject) {
    let s = after(&s, 10);
    assert_eq!(s.gaps().await, []);
    arrive(&s, &[11, 13, 14, 18]).await;
    s.stored(vec![s.version("whole", 11)]).await;
    s.process_all().await;
    let gap: Gap = only(s.gaps().await);
    assert_eq!((&gap.consumer, &gap.lane), (s.consumer(), &key("a")));
    assert_eq!(gap.done, Some(11));
    assert_eq!(gap.missing, [(12, 12), (15, 17)]);
    assert_eq!(gap.waiting, 3);
    let lane = only(s.waiting_lanes().await);
    assert_eq!((lane.head.identity, lane.waiting), (s.identity("a-13"), 2));
    let arrived = s.entry("a-13").await.received_at;
    assert_eq!(gap.deadline, Some(arrived.after(LONG)));
    arrive(&s, &[12]).await;
    s.process_all().await;
    let gap = only(s.gaps().await);
    assert_eq!((gap.done, gap.waiting), (Some(14), 1));
    assert_eq!(gap.missing, [(15, 17)]);
}

/// A version that failed for good parks the later ones; run again and done, it lets them go.
pub async fn later_versions_wait_behind_one_that_failed(s: Subject) {
    let s = after(&s, 0);
    arrive(&s, &[1, 2]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    assert_eq!(arrive(&s, &[3]).await, [PARKED]);
    for id in ["a-2", "a-3"] {
        s.is_parked(id, Cause::BehindFailed).await;
    }
    s.nothing_is_due().await;
    s.operate(Action::Retry { new_key: false }, &["a-1"]).await;
    assert_eq!(s.process_all().await, ["a-1", "a-2", "a-3"]);
}

/// A version that a person passes over counts as applied.
pub async fn a_skipped_version_lets_the_next_one_go(s: Subject) {
    let s = after(&s, 0);
    arrive(&s, &[1, 2, 3]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    s.operate(Action::Skip, &["a-1"]).await;
    assert_eq!(s.process_all().await, ["a-2", "a-3"]);
}

/// By policy the lane goes on without the version that failed.
pub async fn a_lane_by_sequence_may_advance_past_a_failure(s: Subject) {
    let s = by_sequence(&s, Baseline::After(0), PATIENT, OnTerminal::Advance);
    arrive(&s, &[1, 2]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    assert_eq!(s.process_all().await, ["a-2"]);
    arrive(&s, &[3]).await;
    assert_eq!(s.process_all().await, ["a-3"]);
}

/// A person may run what waits for a gap at once, by its id.
pub async fn what_waits_for_a_gap_runs_if_a_person_names_it(s: Subject) {
    let s = after(&s, 0);
    arrive(&s, &[5]).await;
    let mut operation = s.operation(Action::Unpark, semel_core::inbox::Selection::default());
    assert_eq!(s.operate_as(operation.clone()).await.changed, 0);
    s.nothing_is_due().await;
    operation.select.ids = vec![key("a-5")];
    assert_eq!(s.operate_as(operation).await.changed, 1);
    assert_eq!(s.process_all().await, ["a-5"]);
}

/// Several receivers, each with its own part of one aggregate's history, while workers process it.
pub async fn concurrent_arrivals_of_shuffled_versions_run_once_and_in_order(s: Subject) {
    const VERSIONS: u64 = 24;
    let s = after(&s, 0);
    let mut receivers = JoinSet::new();
    for part in 0..4 {
        let s = s.clone();
        receivers.spawn(async move {
            for version in (1..=VERSIONS).rev().filter(|v| v % 4 == part) {
                s.receive_one(s.version("a", version)).await;
            }
        });
    }
    let mut order = Vec::new();
    loop {
        let arriving = receivers.try_join_next().is_some() || !receivers.is_empty();
        let jobs = s.claim().await;
        for job in &jobs {
            assert_eq!(s.complete(job).await, Finished::Done);
            order.push(job.message.sequence().expect("a version"));
        }
        if jobs.is_empty() && !arriving {
            break;
        }
    }
    let expected: Vec<u64> = (1..=VERSIONS).collect();
    assert_eq!(order, expected);
    s.nothing_is_due().await;
}
