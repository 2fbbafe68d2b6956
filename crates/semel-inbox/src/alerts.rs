//! Judges the alerts of consumers and targets every few seconds, and says how each stands at first, and when one begins or ends.

use std::collections::HashMap;
use std::sync::Arc;

use crate::policy::Consumer;
use semel_core::inbox::{Counts, Order};
use semel_core::{Result, Scope, Timestamp};
use tokio::time::sleep;

use crate::engine::{ActiveConsumer, CircuitState, Shared, Stopping};

/// More than a tenth of what arrives in a minute are duplicates.
pub const DUPLICATE_SPIKE: &str = "duplicate-spike";
/// A version is missing.
pub const SEQUENCE_GAP: &str = "sequence-gap";
/// Something has been waiting for too long.
pub const PENDING_AGE: &str = "pending-age";
/// Too many messages are parked or failed for good.
pub const PARKED: &str = "parked";

/// The handler or provider of a consumer is away, and its circuit is open.
pub const CIRCUIT_OPEN: &str = "circuit-open";
/// A person has paused the consumer.
pub const PAUSED: &str = "paused";

/// The alerts that an engine judges for a consumer or target with this policy.
pub fn judged(policy: &Consumer) -> impl Iterator<Item = &'static str> {
    let watched = policy.alerts;
    let in_order = matches!(policy.plan.order, Order::Sequence { .. });
    let all = [
        (CIRCUIT_OPEN, true),
        (PENDING_AGE, watched.pending_age.is_some()),
        (PARKED, watched.parked.is_some()),
        (PAUSED, true),
        (DUPLICATE_SPIKE, watched.duplicate_spike),
        (SEQUENCE_GAP, watched.sequence_gap && in_order),
    ];
    let judged = all.into_iter().filter(|(_, is_judged)| *is_judged);
    judged.map(|(alert, _)| alert)
}

/// Judges until it is stopped.
pub(crate) async fn run(
    shared: Arc<Shared>,
    consumers: Vec<Arc<ActiveConsumer>>,
    mut stopping: Stopping,
) {
    let mut firing: HashMap<(Scope, &'static str), bool> = HashMap::new();
    loop {
        tokio::select! {
            () = stopping.stopped() => return,
            () = sleep(shared.settings.alerts) => {}
        }
        match judge(&shared, &consumers).await {
            Ok(judged) => tell(&shared, &mut firing, judged),
            Err(error) => tracing::warn!(%error, "alerts cannot be judged"),
        }
    }
}

type Judged = Vec<(Scope, &'static str, bool)>;

async fn judge(shared: &Shared, consumers: &[Arc<ActiveConsumer>]) -> Result<Judged> {
    let counts = shared.inbox.counts().await?;
    let mut all = Judged::new();
    for active in consumers {
        let (consumer, name) = (&active.policy, active.policy.name());
        let counts = counts.iter().find(|counts| counts.consumer == *name);
        let mut say = |alert, firing| all.push((name.clone(), alert, firing));
        active.backlog.counted(counts.map_or(0, Counts::pending));
        say(CIRCUIT_OPEN, active.breaker.state() != CircuitState::Closed);
        for (alert, firing) in by_counts(consumer, counts, shared.clock.now()) {
            say(alert, firing);
        }
        if consumer.alerts.duplicate_spike {
            say(DUPLICATE_SPIKE, active.tally.is_spike());
        }
        if consumer.alerts.sequence_gap && matches!(consumer.plan.order, Order::Sequence { .. }) {
            let gaps = shared.inbox.gaps(name.clone(), 1).await?;
            say(SEQUENCE_GAP, !gaps.is_empty());
        }
    }
    Ok(all)
}

/// What follows from the counts of a consumer.
fn by_counts(
    consumer: &Consumer,
    counts: Option<&Counts>,
    now: Timestamp,
) -> Vec<(&'static str, bool)> {
    let mut all = Vec::new();
    if let Some(limit) = consumer.alerts.pending_age {
        let oldest = counts.and_then(|counts| counts.oldest_pending);
        let firing = oldest.is_some_and(|oldest| now.since(oldest) > limit);
        all.push((PENDING_AGE, firing));
    }
    if let Some(limit) = consumer.alerts.parked {
        let dead = counts.map_or(0, Counts::dead);
        all.push((PARKED, dead >= limit.max(1)));
    }
    let paused = counts.and_then(|counts| counts.paused.as_ref());
    all.push((PAUSED, paused.is_some()));
    all
}

/// Tells of what has changed, and of each first verdict: an engine before this one may have said something else.
fn tell(shared: &Shared, before: &mut HashMap<(Scope, &'static str), bool>, judged: Judged) {
    for (consumer, alert, firing) in judged {
        let was = before.insert((consumer.clone(), alert), firing);
        if was != Some(firing) {
            shared.watch.alert(&consumer, alert, firing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_judged_follows_from_the_policy() {
        let mut consumer = Consumer::new("mailer".parse().unwrap());
        consumer.alerts.parked = Some(1);
        consumer.alerts.pending_age = None;
        consumer.alerts.duplicate_spike = false;
        consumer.alerts.sequence_gap = true;
        // Without an order by versions no version is missing.
        let judged: Vec<_> = judged(&consumer).collect();
        assert_eq!(judged, [CIRCUIT_OPEN, PARKED, PAUSED]);
    }

    #[test]
    fn age_and_dead_letters_are_judged_by_the_policy() {
        let name: Scope = "mailer".parse().unwrap();
        let mut consumer = Consumer::new(name.clone());
        consumer.alerts.pending_age = Some(Duration::from_secs(60));
        consumer.alerts.parked = Some(2);
        let now = Timestamp::from_millis(100_000);
        let counts = |oldest: i64, parked, failed_terminal| Counts {
            oldest_pending: Some(Timestamp::from_millis(oldest)),
            parked,
            failed_terminal,
            ..Counts::none(name.clone())
        };
        let judge = |counts: &Counts| by_counts(&consumer, Some(counts), now);
        assert_eq!(
            judge(&counts(40_000, 1, 0)),
            [(PENDING_AGE, false), (PARKED, false), (PAUSED, false)]
        );
        assert_eq!(
            judge(&counts(39_999, 1, 1)),
            [(PENDING_AGE, true), (PARKED, true), (PAUSED, false)]
        );
        assert_eq!(
            by_counts(&consumer, None, now),
            [(PENDING_AGE, false), (PARKED, false), (PAUSED, false)]
        );
    }
}
