//! Everything at once: sources that repeat themselves, workers that fail and disappear, and people who interfere.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::inbox::{
    Action, Baseline, Disposition, Finished, Job, Message, OnGap, OnTerminal, Order, Query, State,
};
use tokio::task::JoinSet;

use super::subject::Subject;
use super::values::{AWHILE, completed, finish_of, id, parked, retry_after, short_lease, terminal};
use crate::random::Random;

const LANES: u64 = 4;
const EACH: u64 = 10;
const WORKERS: u64 = 3;

/// How often a completion of each message counted.
type Tally = Arc<Mutex<BTreeMap<String, usize>>>;

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

fn messages(s: &Subject) -> Vec<Message> {
    let places = (1..=EACH).flat_map(|version| (0..LANES).map(move |lane| (lane, version)));
    let message = |(lane, version)| s.version(&format!("lane-{lane}"), version);
    places.map(message).collect()
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
    for entry in s.list(Query::default()).await {
        let id = entry.identity.key().as_str();
        let counted = tally_of(&tally).get(id).copied().unwrap_or(0);
        let expected = usize::from(entry.state == State::Completed);
        assert!(entry.state.is_final(), "{entry:?}");
        assert_eq!(counted, expected, "completions of {entry:?}");
    }
    assert_eq!(s.ids().await.len(), messages(&s).len());
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
            *tally_of(tally).entry(id(job)).or_default() += 1;
        }
    }
}

/// A person who changes whatever comes to hand, while time passes and leases end.
async fn interfere(s: &Subject, mut random: Random) {
    let ids = ids(s);
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
        if !some.is_empty() {
            s.operate(action, &some).await;
        }
        s.advance_lanes().await;
        s.pass(Duration::from_millis(30)).await;
    }
}

/// Everybody behaves until everything is dealt with.
async fn calm(s: &Subject, tally: &Tally) {
    let ids = ids(s);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    // A round brings every lane on by one message at the very least.
    for _ in 0..=EACH {
        s.operate(Action::Retry { new_key: false }, &ids).await;
        s.operate(Action::Unpark, &ids).await;
        s.pass(AWHILE).await;
        loop {
            let jobs = s.claim().await;
            if jobs.is_empty() {
                break;
            }
            let ends: Vec<_> = jobs.iter().map(|job| (job, completed("done"))).collect();
            finish(s, &ends, tally).await;
        }
        if s.list(Query::default())
            .await
            .iter()
            .all(|e| e.state.is_final())
        {
            return;
        }
    }
}

fn ids(s: &Subject) -> Vec<String> {
    let all = messages(s);
    let ids = all.iter().map(|m| m.identity().key().to_string());
    ids.collect()
}

fn tally_of(tally: &Tally) -> std::sync::MutexGuard<'_, BTreeMap<String, usize>> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
