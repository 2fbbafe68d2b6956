//! The alerts that may fire, and the circuits, which are in the metrics from the beginning, so that their absence says nothing.

use std::collections::BTreeSet;

use semel_admin::Metrics;
use semel_core::Scope;
use semel_inbox::{Engine, alerts};

/// What an engine judges: the alerts and circuits of its consumers, and of the senders of its targets.
#[derive(Debug, Default)]
pub(super) struct Expected {
    alerts: BTreeSet<(Scope, &'static str)>,
    circuits: BTreeSet<Scope>,
}

impl Expected {
    /// What this engine will judge. A consumer without an inbox has no engine, and nothing of it is judged.
    pub(super) fn of(engine: &Engine) -> Self {
        let mut expected = Self::default();
        for policy in engine.policies() {
            let name = policy.name();
            let judged = alerts::judged(policy).map(|alert| (name.clone(), alert));
            expected.alerts.extend(judged);
            expected.circuits.insert(name.clone());
        }
        expected
    }

    /// Takes the place of what was expected: alerts that are still judged keep their last verdict until the new engine has judged them, others
    /// are shown as not firing; those that no engine judges any more are forgotten. The circuits of a new engine are closed.
    pub(super) fn replace(&mut self, metrics: &Metrics, next: Self) {
        for (name, alert) in self.alerts.difference(&next.alerts) {
            metrics.forget_alert(name, alert);
        }
        for name in self.circuits.difference(&next.circuits) {
            metrics.forget_circuit(name);
        }
        for (name, alert) in &next.alerts {
            metrics.expect_alert(name, alert);
        }
        for name in &next.circuits {
            metrics.expect_circuit(name);
        }
        *self = next;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use semel_inbox::Observer as _;
    use semel_inbox::intents::Target;
    use semel_inbox::{Consumer, Done, handler_fn};

    use super::*;

    /// What an engine with this consumer and target judges.
    fn engine(consumer: &str, target: &str) -> Expected {
        let dir = tempfile::tempdir().unwrap();
        let store = semel_sqlite::Config::new(dir.path().join("semel.db")).open();
        let store = store.unwrap();
        let consumer = Consumer::new(consumer.parse().unwrap());
        let target = Target::new(target, "http://127.0.0.1:9/").unwrap();
        let engine = Engine::builder(Arc::new(store))
            .consumer(consumer, handler_fn(|_| async { Ok(Done::new()) }))
            .target(target)
            .build();
        Expected::of(&engine.unwrap())
    }

    /// The alerts that are shown as firing.
    fn firing(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text();
        let firing = text
            .lines()
            .filter(|line| line.starts_with("semel_alert{") && line.ends_with(" 1"));
        firing.map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn verdicts_of_what_stays_hold_and_those_of_consumers_and_targets_that_left_go() {
        let metrics = Metrics::new();
        let mut expected = Expected::default();
        expected.replace(&metrics, engine("mail@1", "crm"));
        let of = |part: &str| {
            let mut all = expected.circuits.iter();
            all.find(|name| name.name().contains(part)).cloned()
        };
        let (mail, crm) = (of("mail").unwrap(), of("crm").unwrap());
        for name in [&mail, &crm] {
            metrics.alert(name, alerts::PARKED, true);
        }
        let before = firing(&metrics);
        assert_eq!(before.len(), 2, "{before:?}");

        expected.replace(&metrics, engine("mail@1", "crm"));
        assert_eq!(firing(&metrics), before);

        expected.replace(&metrics, engine("mail@1", "erp"));
        let left = firing(&metrics);
        assert!(left.len() == 1 && left[0].contains("mail@1"), "{left:?}");
        assert!(!metrics.text().contains(&crm.to_string()));
        assert!(metrics.circuit_of(&crm).is_none());

        expected.replace(&metrics, Expected::default());
        assert!(!metrics.text().contains("semel_alert{"));
    }
}
