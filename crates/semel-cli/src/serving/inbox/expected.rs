//! The alerts that may fire, and the circuits, which are in the metrics from the beginning, so that their absence says nothing.

use semel_admin::Metrics;
use semel_core::inbox::Order;
use semel_inbox::{Consumer, alerts};

/// The alerts of a consumer, and whether its policy wants them.
fn all(policy: &Consumer) -> [(&'static str, bool); 6] {
    let watched = policy.alerts;
    let in_order = matches!(policy.plan.order, Order::Sequence { .. });
    [
        (alerts::DUPLICATE_SPIKE, watched.duplicate_spike),
        (alerts::SEQUENCE_GAP, watched.sequence_gap && in_order),
        (alerts::PENDING_AGE, watched.pending_age.is_some()),
        (alerts::PARKED, watched.parked.is_some()),
        (alerts::CIRCUIT_OPEN, true),
        (alerts::PAUSED, true),
    ]
}

/// Shows the alerts of a consumer as not firing and its circuit as closed. An engine says only what has changed since it started, so whatever an engine before
/// it said is forgotten.
pub(super) fn expect(metrics: &Metrics, policy: &Consumer) {
    for (alert, _) in all(policy).into_iter().filter(|(_, may_fire)| *may_fire) {
        metrics.expect_alert(policy.name(), alert);
    }
    metrics.expect_circuit(policy.name());
}

/// Forgets the alerts of a consumer that no engine judges any more.
pub(super) fn forget(metrics: &Metrics, policy: &Consumer) {
    for (alert, _) in all(policy) {
        metrics.forget_alert(policy.name(), alert);
    }
    metrics.forget_circuit(policy.name());
}
