//! The values that alerts are judged by, from two readings of the metrics.

use super::Subject;
use crate::metrics::Readings;

/// How few requests or look-ups say nothing about a share of them.
const FEW: u64 = 20;
/// The same of claims, of which one in a hundred matters.
const FEW_CLAIMS: u64 = 100;

/// What an alert's value is, and about what.
pub(super) type Value = (Option<Subject>, f64);

/// The readings of now and of the beginning of an alert's window.
pub(super) struct Values<'a> {
    pub(super) now: &'a Readings,
    pub(super) before: &'a Readings,
    /// Unix time, in seconds.
    pub(super) time: f64,
}

impl Values<'_> {
    /// How much a counter has grown.
    fn grown(&self, read: impl Fn(&Readings) -> u64) -> u64 {
        read(self.now).saturating_sub(read(self.before))
    }
}

/// About the process or its store as a whole.
fn whole(value: f64) -> Vec<Value> {
    vec![(None, value)]
}

fn one_if(is_so: bool) -> Vec<Value> {
    whole(if is_so { 1.0 } else { 0.0 })
}

fn each<K: AsRef<str>>(kind: &'static str, all: impl IntoIterator<Item = (K, f64)>) -> Vec<Value> {
    let all = all.into_iter();
    all.map(|(name, value)| (Some(Subject::new(kind, name.as_ref())), value))
        .collect()
}

pub(super) fn store_away(values: &Values<'_>) -> Vec<Value> {
    one_if(!values.now.store.up)
}

pub(super) fn late(values: &Values<'_>) -> Vec<Value> {
    let of_messages = |readings: &Readings| readings.consumers.iter().map(|one| one.late).sum();
    let late = values.grown(|readings| readings.late) + values.grown(of_messages);
    whole(late as f64)
}

pub(super) fn clock_jump(values: &Values<'_>) -> Vec<Value> {
    whole(values.now.clock_jump)
}

pub(super) fn unknown(values: &Values<'_>) -> Vec<Value> {
    whole(values.now.store.unknown as f64)
}

pub(super) fn oldest_running(values: &Values<'_>) -> Vec<Value> {
    whole(values.now.store.oldest_running)
}

pub(super) fn duplicates(values: &Values<'_>) -> Vec<Value> {
    let of = |(scope, requests, duplicates): &(std::sync::Arc<str>, u64, u64)| {
        let mut before = values.before.traffic.iter();
        let before = before.find(|(known, ..)| known == scope);
        let (old, older) = before.map_or((0, 0), |(_, all, duplicates)| (*all, *duplicates));
        let (requests, duplicates) = (requests - old, duplicates - older);
        let share = match requests < FEW {
            true => 0.0,
            false => duplicates as f64 / requests as f64,
        };
        (scope.clone(), share)
    };
    each("scope", values.now.traffic.iter().map(of))
}

pub(super) fn look_up(values: &Values<'_>) -> Vec<Value> {
    let sizes = values.now.look_ups.clone();
    let sizes = sizes.since(&values.before.look_ups);
    let slow = match sizes.total() < FEW {
        true => None,
        false => sizes.quantile(0.95),
    };
    whole(slow.unwrap_or(0.0))
}

pub(super) fn conflicts(values: &Values<'_>) -> Vec<Value> {
    let claims = values.grown(|readings| readings.claims);
    let running = values.grown(|readings| readings.claims_running);
    whole(match claims < FEW_CLAIMS {
        true => 0.0,
        false => running as f64 / claims as f64,
    })
}

pub(super) fn bytes(values: &Values<'_>) -> Vec<Value> {
    whole(values.now.store.bytes as f64)
}

pub(super) fn sweep_failures(values: &Values<'_>) -> Vec<Value> {
    whole(values.grown(|readings| readings.sweep_failures) as f64)
}

/// How long ago the last step was, or for how long each has left something: the longer of the two.
pub(super) fn sweep_lag(values: &Values<'_>) -> Vec<Value> {
    let since = [values.now.last_swept, values.now.sweep_behind];
    let oldest = since.into_iter().flatten().reduce(f64::min);
    let lag = |since: f64| (None, values.time - since);
    oldest.map(lag).into_iter().collect()
}

pub(super) fn budgets(values: &Values<'_>) -> Vec<Value> {
    each("budget", values.now.budgets.iter().copied())
}

pub(super) fn unguarded(values: &Values<'_>) -> Vec<Value> {
    whole(values.grown(|readings| readings.unguarded) as f64)
}

pub(super) fn certificates(values: &Values<'_>) -> Vec<Value> {
    let ends = values.now.certificates.iter();
    each("port", ends.map(|(port, end)| (*port, end - values.time)))
}

pub(super) fn tokens(values: &Values<'_>) -> Vec<Value> {
    let ends = values.now.tokens.iter();
    each("token", ends.map(|(name, end)| (name, end - values.time)))
}

pub(super) fn reload_failed(values: &Values<'_>) -> Vec<Value> {
    one_if(!values.now.reload_ok)
}

pub(super) fn stale(values: &Values<'_>) -> Vec<Value> {
    let stale = values.now.stale.iter();
    each(
        "consumer",
        stale.map(|(consumer, count)| (consumer, *count as f64)),
    )
}

pub(super) fn sources(values: &Values<'_>) -> Vec<Value> {
    let away = values.now.sources_not_read.iter();
    each(
        "consumer",
        away.map(|(consumer, count)| (consumer, *count as f64)),
    )
}

pub(super) fn terminal(values: &Values<'_>) -> Vec<Value> {
    by_consumer(values, |consumer| consumer.terminal)
}

pub(super) fn replays_forced(values: &Values<'_>) -> Vec<Value> {
    by_consumer(values, |consumer| consumer.forced)
}

fn by_consumer(
    values: &Values<'_>,
    read: fn(&crate::metrics::WatchedConsumer) -> u64,
) -> Vec<Value> {
    let of = |consumer: &crate::metrics::WatchedConsumer| {
        let mut before = values.before.consumers.iter();
        let before = before.find(|known| known.consumer == consumer.consumer);
        let grown = read(consumer).saturating_sub(before.map_or(0, read));
        (consumer.consumer.clone(), grown as f64)
    };
    each("consumer", values.now.consumers.iter().map(of))
}
