//! The alerts that may fire, which are in the metrics from the beginning, so that their absence says nothing.

use semel_admin::Metrics;
use semel_core::inbox::Order;
use semel_inbox::{Consumer, alerts};

/// The alerts of a consumer, and whether its policy wants them.
fn all(policy: &Consumer) -> [(&'static str, bool); 4] {
    let watched = policy.alerts;
    let in_order = matches!(policy.plan.order, Order::Sequence { .. });
    [
        (alerts::DUPLICATE_SPIKE, watched.duplicate_spike),
        (alerts::SEQUENCE_GAP, watched.sequence_gap && in_order),
        (alerts::PENDING_AGE, watched.pending_age.is_some()),
        (alerts::PARKED, watched.parked.is_some()),
    ]
}

/// Shows the alerts of a consumer as not firing. An engine says only what has changed since it started, so whatever an engine before
/// it said is forgotten.
pub(super) fn expect(metrics: &Metrics, policy: &Consumer) {
    for (alert, _) in all(policy).into_iter().filter(|(_, may_fire)| *may_fire) {
        metrics.expect_alert(policy.name(), alert);
    }
}

/// Forgets the alerts of a consumer that no engine judges any more.
pub(super) fn forget(metrics: &Metrics, policy: &Consumer) {
    for (alert, _) in all(policy) {
        metrics.forget_alert(policy.name(), alert);
    }
}
