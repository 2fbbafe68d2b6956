//! Which alerts fire: what engines said about their consumers, and what the admin side judged by itself. And what became of the notices about them.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::Scope;

use super::CONSUMERS_MAX;
use crate::alerts::Subject;

/// The most verdicts of engines that are kept: more than there are alerts of consumers, for as many consumers as are told apart.
const SAID_MAX: usize = 16 * CONSUMERS_MAX;

type Labels = Vec<(&'static str, Arc<str>)>;
/// Whether an alert of a consumer fires, as the engine said last.
type Said = BTreeMap<(Scope, &'static str), bool>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Sent {
    result: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Alerts {
    series: Family<Labels, Gauge<u64, AtomicU64>>,
    notices: Family<Sent, Counter>,
    /// A std lock, not an async one: it is held to look one entry up or to copy them, never over an await.
    said: Mutex<Said>,
}

impl Alerts {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let alerts = Self::default();
        registry.register(
            "semel_alert",
            "1 while an alert fires",
            alerts.series.clone(),
        );
        registry.register(
            "semel_alert_notices",
            "Notices to the webhook of alerts, by result: delivered; retried, an attempt that failed; refused by the receiver; dropped, because too many waited or for too long",
            alerts.notices.clone(),
        );
        alerts
    }

    /// An engine says whether an alert of a consumer fires.
    pub(super) fn say(&self, consumer: &Scope, alert: &'static str, firing: bool) {
        let mut said = self.said();
        let key = (consumer.clone(), alert);
        if said.len() >= SAID_MAX && !said.contains_key(&key) {
            return;
        }
        said.insert(key, firing);
        drop(said);
        self.show(alert, Some(&consumer_subject(consumer)), firing);
    }

    /// No engine judges this alert any more, so it does not fire.
    pub(super) fn forget(&self, consumer: &Scope, alert: &'static str) {
        self.said().remove(&(consumer.clone(), alert));
        let subject = consumer_subject(consumer);
        self.series.remove(&labels(alert, Some(&subject)));
    }

    /// What engines said last.
    pub(super) fn all_said(&self) -> Said {
        self.said().clone()
    }

    /// Shows whether an alert fires.
    pub(super) fn show(&self, alert: &'static str, subject: Option<&Subject>, firing: bool) {
        let gauge = self.series.get_or_create(&labels(alert, subject));
        gauge.set(u64::from(firing));
    }

    /// Shows an alert no more: what it was about is gone.
    pub(super) fn hide(&self, alert: &'static str, subject: Option<&Subject>) {
        self.series.remove(&labels(alert, subject));
    }

    /// Counts what became of a notice.
    pub(super) fn noticed(&self, result: &'static str) {
        self.notices.get_or_create(&Sent { result }).inc();
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn consumer_subject(consumer: &Scope) -> Subject {
    Subject::new("consumer", consumer.to_string())
}

fn labels(alert: &'static str, subject: Option<&Subject>) -> Labels {
    let about = subject.map(|subject| (subject.kind, subject.name.clone()));
    about.into_iter().chain([("alert", alert.into())]).collect()
}
