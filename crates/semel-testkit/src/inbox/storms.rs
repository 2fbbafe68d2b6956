//! Everything at once: sources that repeat themselves, workers that fail and disappear, and people who interfere.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::inbox::{
    Action, Baseline, Disposition, Entry, Finished, Job, Message, OnGap, OnTerminal, Order, Query,
    Selection, State,
};
use semel_core::{Fence, Identity};
use tokio::task::JoinSet;

use super::subject::Subject;
use super::values::{AWHILE, completed, finish_of, parked, retry_after, short_lease, terminal};
use crate::random::Random;

const LANES: u64 = 4;
const EACH: u64 = 10;
const WORKERS: u64 = 3;

/// The claims whose completions counted, by tenant and id.
type Tally = Arc<Mutex<BTreeMap<(String, String), Vec<Fence>>>>;

/// Without order.
pub async fn a_storm_completes_every_message_once(s: Subject) {
    storm(s).await;
}

/// In order of arrival.
pub async fn a_storm_in_lanes_completes_every_message_once(s: Subject) {
    let on_terminal = OnTerminal::Park;
    storm(s.ordered(Order::Arrival { on_terminal })).await;
}

/// By sequence, which may pass versions over.
pub async fn a_storm_of_versions_deals_with_every_message_once(s: Subject) {
    let order = Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    storm(s.ordered(order)).await;
}

/// Two tenants whose aggregates and messages have the same names.
fn messages(s: &Subject) -> Vec<Message> {
    let places = (1..=EACH).flat_map(|version| (0..LANES).map(move |lane| (lane, version)));
    let other = s.clone().of_tenant("another");
    let both = |(lane, version)| {
        let lane = format!("lane-{lane}");
        [s.version(&lane, version), other.version(&lane, version)]
    };
    places.flat_map(both).collect()
}

async fn storm(s: Subject) {
    let tally = Tally::default();
    let mut sources = JoinSet::new();
    for source in 0..2 {
        let s = s.clone();
        sources.spawn(async move { deliver(&s, Random::new(source + 100)).await });
    }
    let mut others = JoinSet::new();
    for worker in 0..WORKERS {
        let (s, tally) = (s.clone(), tally.clone());
        others.spawn(async move { work(&s, Random::new(worker + 200), &tally).await });
    }
    let person = s.clone();
    others.spawn(async move { interfere(&person, Random::new(300)).await });
    sources.join_all().await;
    others.join_all().await;
    calm(&s, &tally).await;
    let all = everything(&s).await;
    for entry in &all {
        let counted = tally_of(&tally)
            .get(&name(&entry.identity))
            .map_or(0, Vec::len);
        let expected = usize::from(entry.state == State::Completed);
        assert!(entry.state.is_final(), "{entry:?}");
        assert_eq!(counted, expected, "completions of {entry:?}");
    }
    assert_eq!(all.len(), messages(&s).len());
    assert_order(&s, &all, &tally);
}

/// What was completed in one lane was claimed in the order of the lane.
fn assert_order(s: &Subject, all: &[Entry], tally: &Tally) {
    let place = |entry: &Entry| match s.plan().order {
        Order::None => None,
        Order::Arrival { .. } => Some(entry.number),
        Order::Sequence { .. } => entry.sequence,
    };
    let mut lanes: BTreeMap<(String, String), Vec<(Fence, u64)>> = BTreeMap::new();
    for entry in all {
        let fences = tally_of(tally).get(&name(&entry.identity)).cloned();
        let (Some(fences), Some(place)) = (fences, place(entry)) else {
            continue;
        };
        let lane = entry.lane.as_ref().map(ToString::to_string);
        let lane = (
            entry.identity.tenant().to_string(),
            lane.unwrap_or_default(),
        );
        let ran = fences.into_iter().map(|fence| (fence, place));
        lanes.entry(lane).or_default().extend(ran);
    }
    for (lane, mut ran) in lanes {
        ran.sort_unstable();
        let in_order = ran.windows(2).all(|pair| pair[0].1 < pair[1].1);
        assert!(in_order, "{lane:?} ran as {ran:?}");
    }
}

/// Every message of the consumer.
async fn everything(s: &Subject) -> Vec<Entry> {
    let query = Query {
        limit: 1_000,
        ..Query::default()
    };
    s.list(query).await
}

fn name(identity: &Identity) -> (String, String) {
    (identity.tenant().to_string(), identity.key().to_string())
}

/// Delivers everything twice, in pieces and in an order of its own.
async fn deliver(s: &Subject, mut random: Random) {
    let mut all = messages(s);
    all.extend(messages(s));
    for n in (1..all.len()).rev() {
        let other = usize::try_from(random.below(n as u64 + 1)).unwrap_or(0);
        all.swap(n, other);
    }
    for batch in all.chunks(7) {
        s.receive(batch.to_vec()).await;
    }
}

/// Completes most of what it gets; fails, gives back or forgets the rest.
async fn work(s: &Subject, mut random: Random, tally: &Tally) {
    for _ in 0..40 {
        let mut ask = s.ask(4);
        ask.lease = short_lease();
        let jobs = s.claim_as(ask).await.jobs;
        let mut ends = Vec::new();
        for job in &jobs {
            let disposition = match random.below(12) {
                // Its worker is lost.
                0 | 1 => continue,
                2 => retry_after(Duration::ZERO),
                3 => terminal(),
                4 => parked(),
                5 => Disposition::Return,
                _ => completed("done"),
            };
            ends.push((job, disposition));
        }
        finish(s, &ends, tally).await;
    }
}

async fn finish(s: &Subject, ends: &[(&Job, Disposition)], tally: &Tally) {
    let items = ends.iter().map(|(job, end)| finish_of(job, end.clone()));
    let finished = s.finish_all(items.collect()).await;
    for ((job, disposition), finished) in ends.iter().zip(finished) {
        if finished == Finished::Done && disposition.state() == State::Completed {
            let claim = &job.claim;
            let mut tally = tally_of(tally);
            tally
                .entry(name(&claim.identity))
                .or_default()
                .push(claim.fence);
        }
    }
}

/// A person who changes whatever comes to hand, while time passes and leases end. What waits for others of its lane is left waiting: to
/// run it at once is to give up the order.
async fn interfere(s: &Subject, mut random: Random) {
    let ids: Vec<String> = messages(s)
        .iter()
        .map(|message| message.identity().key().to_string())
        .collect();
    for _ in 0..20 {
        let some: Vec<&str> = ids
            .iter()
            .filter(|_| random.chance(20))
            .map(String::as_str)
            .collect();
        let action = match random.below(8) {
            0 => Action::Skip,
            1 | 2 => Action::Park,
            3..6 => Action::Retry { new_key: false },
            _ => Action::Unpark,
        };
        if action == Action::Unpark {
            s.operate_as(s.operation(action, Selection::default()))
                .await;
        } else if !some.is_empty() {
            s.operate(action, &some).await;
        }
        s.advance_lanes().await;
        s.pass(Duration::from_millis(30)).await;
    }
}

/// Everybody behaves until everything is dealt with: dead letters run again, and lanes go on by themselves.
async fn calm(s: &Subject, tally: &Tally) {
    // A round brings every lane on by one message at the very least.
    for _ in 0..=EACH {
        let retry = Action::Retry { new_key: false };
        s.operate_as(s.operation(retry, Selection::default())).await;
        s.pass(AWHILE).await;
        while s.advance_lanes().await > 0 {}
        loop {
            let jobs = s.claim().await;
            if jobs.is_empty() {
                break;
            }
            let ends: Vec<_> = jobs.iter().map(|job| (job, completed("done"))).collect();
            finish(s, &ends, tally).await;
        }
        if everything(s).await.iter().all(|e| e.state.is_final()) {
            return;
        }
    }
}

fn tally_of(tally: &Tally) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), Vec<Fence>>> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
