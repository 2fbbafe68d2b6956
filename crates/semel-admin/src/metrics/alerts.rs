//! Which alerts fire: what engines said about their consumers, and what the admin side judged by itself. And what became of the notices about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::Scope;

use super::{CONSUMERS_MAX, Metrics};
use crate::alerts::Subject;

/// The most verdicts of engines that are kept: more than there are alerts of consumers, for as many consumers as are told apart.
const SAID_MAX: usize = 16 * CONSUMERS_MAX;

type Labels = Vec<(&'static str, Arc<str>)>;
/// Whether an alert of a consumer fires, as the engine said last.
type Verdicts = BTreeMap<(Scope, &'static str), bool>;

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

#[derive(Debug, Default)]
struct Said {
    verdicts: Verdicts,
    /// The alerts that the configuration switches off: what engines say about them is kept and not shown.
    off: BTreeSet<&'static str>,
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

    /// An engine says whether an alert of a consumer fires. Gives whether the alert has begun or ended by that, and is on.
    pub(super) fn say(&self, consumer: &Scope, alert: &'static str, firing: bool) -> bool {
        let mut said = self.said();
        let key = (consumer.clone(), alert);
        if said.verdicts.len() >= SAID_MAX && !said.verdicts.contains_key(&key) {
            return false;
        }
        let was = said.verdicts.insert(key, firing).unwrap_or(false);
        if said.off.contains(alert) {
            return false;
        }
        self.show(alert, Some(&consumer_subject(consumer)), firing);
        was != firing
    }

    /// An engine will judge this alert: until then its last verdict holds, or that it does not fire.
    fn expect(&self, consumer: &Scope, alert: &'static str) {
        let known = self
            .said()
            .verdicts
            .get(&(consumer.clone(), alert))
            .copied();
        self.say(consumer, alert, known.unwrap_or(false));
    }

    /// No engine judges this alert any more, so it does not fire.
    fn forget(&self, consumer: &Scope, alert: &'static str) {
        self.said().verdicts.remove(&(consumer.clone(), alert));
        self.hide(alert, Some(&consumer_subject(consumer)));
    }

    /// Switches these alerts of consumers off and all others on.
    fn switch_off(&self, off: BTreeSet<&'static str>) {
        let mut said = self.said();
        if said.off == off {
            return;
        }
        for ((consumer, alert), firing) in &said.verdicts {
            let subject = consumer_subject(consumer);
            match (said.off.contains(alert), off.contains(alert)) {
                (false, true) => self.hide(alert, Some(&subject)),
                (true, false) => self.show(alert, Some(&subject), *firing),
                (false, false) | (true, true) => {}
            }
        }
        said.off = off;
    }

    /// What engines said last.
    pub(super) fn all_said(&self) -> Verdicts {
        self.said().verdicts.clone()
    }

    /// Shows whether an alert fires.
    fn show(&self, alert: &'static str, subject: Option<&Subject>, firing: bool) {
        let gauge = self.series.get_or_create(&labels(alert, subject));
        gauge.set(u64::from(firing));
    }

    /// Shows an alert no more: what it was about is gone.
    fn hide(&self, alert: &'static str, subject: Option<&Subject>) {
        self.series.remove(&labels(alert, subject));
    }

    /// Counts what became of a notice.
    fn noticed(&self, result: &'static str) {
        self.notices.get_or_create(&Sent { result }).inc();
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Metrics {
    /// Shows whether an alert fires that the admin side judges.
    pub(crate) fn show_alert(&self, alert: &'static str, subject: Option<&Subject>, firing: bool) {
        self.alerts.show(alert, subject, firing);
    }

    /// Shows an alert no more that the admin side judges.
    pub(crate) fn hide_alert(&self, alert: &'static str, subject: Option<&Subject>) {
        self.alerts.hide(alert, subject);
    }

    /// Counts what became of a notice to the webhook of alerts.
    pub(crate) fn noticed(&self, result: &'static str) {
        self.alerts.noticed(result);
    }

    /// Shows an alert of a consumer or target as not firing, before an engine has judged it. What an engine said about it before stays: the
    /// engine in its place has not judged it yet.
    pub fn expect_alert(&self, consumer: &Scope, alert: &'static str) {
        self.alerts.expect(consumer, alert);
    }

    /// Shows an alert of a consumer or target no more, because no engine judges it any more.
    pub fn forget_alert(&self, consumer: &Scope, alert: &'static str) {
        self.alerts.forget(consumer, alert);
    }

    /// Shows no alert of consumers that the configuration switches off, and all others.
    pub(crate) fn switch_alerts_off(&self, off: BTreeSet<&'static str>) {
        self.alerts.switch_off(off);
    }
}

fn consumer_subject(consumer: &Scope) -> Subject {
    Subject::new("consumer", consumer.to_string())
}

fn labels(alert: &'static str, subject: Option<&Subject>) -> Labels {
    let about = subject.map(|subject| (subject.kind, subject.name.clone()));
    about.into_iter().chain([("alert", alert.into())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARKED: &str = "semel_alert{consumer=\"mail@1\",alert=\"parked\"}";

    fn shown(metrics: &Metrics) -> Option<String> {
        let text = metrics.text();
        let line = text.lines().find_map(|line| line.strip_prefix(PARKED));
        line.map(|value| value.trim().to_owned())
    }

    #[test]
    fn a_verdict_holds_until_the_next_engine_has_judged_or_none_will() {
        let metrics = Metrics::new();
        let mail: Scope = "mail@1".parse().unwrap();
        metrics.expect_alert(&mail, "parked");
        assert_eq!(shown(&metrics).as_deref(), Some("0"));
        assert!(metrics.alerts.say(&mail, "parked", true));
        metrics.expect_alert(&mail, "parked");
        assert_eq!(shown(&metrics).as_deref(), Some("1"));
        // The first verdict of the engine in its place is the same, which is no news.
        assert!(!metrics.alerts.say(&mail, "parked", true));
        assert!(metrics.alerts.say(&mail, "parked", false));
        metrics.forget_alert(&mail, "parked");
        assert_eq!(shown(&metrics), None);
        assert!(metrics.alerts.all_said().is_empty());
    }

    #[test]
    fn an_alert_that_is_off_is_not_shown_and_comes_back_as_it_stands() {
        let metrics = Metrics::new();
        let mail: Scope = "mail@1".parse().unwrap();
        assert!(metrics.alerts.say(&mail, "parked", true));
        metrics.switch_alerts_off(BTreeSet::from(["parked"]));
        assert_eq!(shown(&metrics), None);
        assert!(!metrics.alerts.say(&mail, "parked", false));
        assert!(!metrics.alerts.say(&mail, "parked", true));
        assert_eq!(shown(&metrics), None);
        metrics.switch_alerts_off(BTreeSet::new());
        assert_eq!(shown(&metrics).as_deref(), Some("1"));
    }
}
