//! The state machine of alerts: quiet, pending, firing. Pure: readings and moments are arguments.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use semel_core::Timestamp;
use tokio::time::Instant;

use super::rule::{Judge as By, Rule};
use super::table::RULES;
use super::values::{Value, Values};
use super::{Settings, Subject};
use crate::metrics::Readings;

/// How far apart the readings are that counters are compared with.
const STEP: Duration = Duration::from_secs(30);
/// The longest window of an alert. With [`STEP`] it bounds how many readings are kept.
const WINDOW_MAX: Duration = Duration::from_secs(3_600);
/// The most alerts about one thing among many that are not quiet. More than there are labels of one kind, so that one flood leaves room for the
/// others. What is about the process or its store as a whole has room in any case: there is one of each.
const ACTIVE_MAX: usize = 2_048;

/// An alert that is not quiet.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    /// Which one.
    pub rule: &'static str,
    /// About what.
    pub subject: Option<Subject>,
    /// Whether it fires; otherwise its condition has not held for long enough.
    pub firing: bool,
    /// Since when its condition holds.
    pub since: Timestamp,
    /// Its value when it was judged last.
    pub value: f64,
    /// Beyond which value it fires; `None` where a consumer's policy says so.
    pub threshold: Option<f64>,
}

/// An alert that has begun or ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The alert as it is now, or as it was when it ended.
    pub alert: Active,
    /// When it began or ended.
    pub at: Timestamp,
}

/// Judges all alerts, again and again.
#[derive(Debug)]
pub(crate) struct Judge {
    past: VecDeque<(Instant, Readings)>,
    active: BTreeMap<(&'static str, Option<Subject>), (Instant, Active)>,
}

impl Judge {
    /// Counters are compared with what they were at this moment, at first.
    pub(crate) fn new(readings: Readings, now: Instant) -> Self {
        Self {
            past: VecDeque::from([(now, readings)]),
            active: BTreeMap::new(),
        }
    }

    /// Judges these readings; gives the alerts that have begun to fire or have ended.
    pub(crate) fn judge(
        &mut self,
        readings: Readings,
        settings: &Settings,
        (now, at): (Instant, Timestamp),
    ) -> Vec<Change> {
        let mut before = std::mem::take(&mut self.active);
        let mut changes = Vec::new();
        for rule in RULES {
            let threshold = settings.threshold(rule);
            for (subject, value) in self.passed(rule, threshold, &readings, (now, at)) {
                let key = (rule.name, subject);
                let known = before.remove(&key);
                // One that is known keeps its place: left out, it would be announced as ended although it is not.
                let places = self.active.len() + before.len();
                if known.is_none() && key.1.is_some() && places >= ACTIVE_MAX {
                    continue;
                }
                let (began, mut alert) =
                    known.unwrap_or_else(|| (now, begun(rule, key.1.clone(), at)));
                alert.value = value;
                alert.threshold = threshold.filter(|_| !rule.is_of_policies());
                if !alert.firing && now.duration_since(began) >= rule.lasts {
                    alert.firing = true;
                    changes.push(Change {
                        alert: alert.clone(),
                        at,
                    });
                }
                self.active.insert(key, (began, alert));
            }
        }
        let ended = before.into_values().map(|(_, alert)| alert);
        let ended = ended.filter(|alert| alert.firing).map(|mut alert| {
            alert.firing = false;
            Change { alert, at }
        });
        changes.extend(ended);
        self.remember(readings, now);
        changes
    }

    /// The alerts that are not quiet: what fires first, then the worst.
    pub(crate) fn active(&self) -> Vec<Active> {
        let place = |alert: &Active| {
            let at = RULES.iter().position(|rule| rule.name == alert.rule);
            (!alert.firing, at)
        };
        let mut all: Vec<Active> = self
            .active
            .values()
            .map(|(_, alert)| alert.clone())
            .collect();
        all.sort_by_key(place);
        all
    }

    /// What is beyond the threshold.
    fn passed(
        &self,
        rule: &Rule,
        threshold: Option<f64>,
        now: &Readings,
        (instant, at): (Instant, Timestamp),
    ) -> Vec<Value> {
        let Some(threshold) = threshold else {
            return Vec::new();
        };
        let mut values = match rule.judge {
            By::Policies | By::Engine => said(rule, now),
            By::Admin(window, values) => values(&Values {
                now,
                before: self.at(instant, window).unwrap_or(now),
                time: at.as_millis() as f64 / 1e3,
            }),
        };
        values.retain(|(_, value)| rule.bound.is_passed(*value, threshold));
        values
    }

    /// The readings of so long ago, or the oldest there are.
    fn at(&self, now: Instant, ago: Duration) -> Option<&Readings> {
        let mut old = self.past.iter().rev();
        let old = old.find(|(then, _)| now.duration_since(*then) >= ago);
        old.or_else(|| self.past.front())
            .map(|(_, readings)| readings)
    }

    fn remember(&mut self, readings: Readings, now: Instant) {
        let last = self.past.back();
        if last.is_some_and(|(then, _)| now.duration_since(*then) < STEP) {
            return;
        }
        self.past.push_back((now, readings));
        let is_old = |then: Instant| now.duration_since(then) >= WINDOW_MAX;
        // One that is older than the longest window stays, to be compared with.
        while self.past.get(1).is_some_and(|(then, _)| is_old(*then)) {
            self.past.pop_front();
        }
    }
}

fn begun(rule: &'static Rule, subject: Option<Subject>, at: Timestamp) -> Active {
    Active {
        rule: rule.name,
        subject,
        firing: false,
        since: at,
        value: 0.0,
        threshold: None,
    }
}

/// What engines said about an alert.
fn said(rule: &Rule, now: &Readings) -> Vec<Value> {
    let of_rule = now.said.iter().filter(|(_, alert, _)| *alert == rule.name);
    let value = |firing: bool| if firing { 1.0 } else { 0.0 };
    of_rule
        .map(|(consumer, _, firing)| {
            let subject = Subject::new("consumer", consumer.to_string());
            (Some(subject), value(*firing))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    struct Rig {
        judge: Judge,
        readings: Readings,
        settings: Settings,
        began: Instant,
    }

    impl Rig {
        fn new() -> Self {
            let mut readings = Metrics::new().readings();
            readings.store.up = true;
            let began = Instant::now();
            Self {
                judge: Judge::new(readings.clone(), began),
                readings,
                settings: Settings::default(),
                began,
            }
        }

        /// The changes at so many seconds, as names and whether they began.
        fn at(&mut self, seconds: u64) -> Vec<(&'static str, bool)> {
            let now = self.began + Duration::from_secs(seconds);
            let at = Timestamp::from_millis(i64::try_from(seconds * 1_000).unwrap());
            let readings = self.readings.clone();
            let changes = self.judge.judge(readings, &self.settings, (now, at));
            changes
                .iter()
                .map(|change| (change.alert.rule, change.alert.firing))
                .collect()
        }
    }

    #[test]
    fn nothing_fires_in_a_process_that_just_began() {
        assert!(Rig::new().at(0).is_empty());
    }

    #[test]
    fn an_alert_is_pending_until_its_condition_has_held_for_long_enough() {
        let mut rig = Rig::new();
        rig.readings.store.up = false;
        assert!(rig.at(0).is_empty());
        assert!(!rig.judge.active()[0].firing);
        assert!(rig.at(29).is_empty());
        assert_eq!(rig.at(30), [("store-away", true)]);
        assert!(rig.at(31).is_empty());
        assert_eq!(rig.judge.active()[0].since, Timestamp::from_millis(0));
        rig.readings.store.up = true;
        assert_eq!(rig.at(32), [("store-away", false)]);
        assert!(rig.judge.active().is_empty());
    }

    #[test]
    fn a_condition_that_ends_too_soon_says_nothing() {
        let mut rig = Rig::new();
        rig.readings.store.up = false;
        assert!(rig.at(0).is_empty());
        rig.readings.store.up = true;
        assert!(rig.at(20).is_empty());
        rig.readings.store.up = false;
        assert!(rig.at(40).is_empty());
    }

    #[test]
    fn a_counter_is_compared_with_what_it_was_a_window_ago() {
        let mut rig = Rig::new();
        assert!(rig.at(0).is_empty());
        rig.readings.late = 1;
        assert_eq!(rig.at(60), [("side-effect-duplicate", true)]);
        for seconds in (90..3_660).step_by(30) {
            assert!(rig.at(seconds).is_empty(), "{seconds}");
        }
        assert_eq!(rig.at(3_690), [("side-effect-duplicate", false)]);
        assert!(rig.judge.past.len() < 125, "{}", rig.judge.past.len());
    }

    #[test]
    fn thresholds_are_set_and_alerts_are_switched_off() {
        let mut rig = Rig::new();
        rig.readings.store.bytes = 2_000_000_000;
        rig.readings.store.oldest_running = 1_000.0;
        rig.settings.thresholds.insert("store-large", Some(3e9));
        rig.settings.thresholds.insert("running-long", None);
        assert!(rig.at(0).is_empty());
        assert!(rig.at(600).is_empty());
        rig.readings.store.bytes = 4_000_000_000;
        assert!(rig.at(601).is_empty());
        assert_eq!(rig.at(901), [("store-large", true)]);
        // Switched off while it fires, it ends.
        rig.settings.thresholds.insert("store-large", None);
        assert_eq!(rig.at(902), [("store-large", false)]);
    }

    #[test]
    fn shares_are_judged_by_route_and_only_of_enough_requests() {
        let mut rig = Rig::new();
        assert!(rig.at(0).is_empty());
        rig.readings.traffic = vec![
            ("few".into(), 19, 19),
            ("pay@1".into(), 100, 11),
            ("ok".into(), 100, 10),
        ];
        assert!(rig.at(30).is_empty());
        let active = rig.judge.active();
        assert_eq!(active.len(), 1, "{active:?}");
        assert_eq!(active[0].subject, Some(Subject::new("scope", "pay@1")));
        assert!((active[0].value - 0.11).abs() < 1e-9);
    }

    #[test]
    fn what_ends_soon_is_below_its_bound() {
        let mut rig = Rig::new();
        let day = 86_400.0;
        rig.readings.certificates = vec![("gateway", 13.0 * day), ("admin", 15.0 * day)];
        rig.readings.tokens = vec![("ci".to_owned(), -1.0)];
        let began = rig.at(0);
        assert_eq!(
            began,
            [("certificate-expiring", true), ("token-expiring", true)]
        );
        assert_eq!(
            rig.judge.active()[0].subject,
            Some(Subject::new("port", "gateway"))
        );
    }

    #[test]
    fn a_flood_ends_no_alert_that_still_fires_and_keeps_none_of_the_store_out() {
        let mut rig = Rig::new();
        let consumer = |n: usize| semel_core::Scope::new(format!("c-{n}"), 1).unwrap();
        let parked = |n| (consumer(n), "parked", true);
        rig.readings.said = (0..ACTIVE_MAX).map(parked).collect();
        assert_eq!(rig.at(0).len(), ACTIVE_MAX);
        // These are judged first, and there is no room for what is about one scope.
        rig.readings.store.up = false;
        rig.readings.tokens = vec![("ci".to_owned(), -1.0)];
        assert!(rig.at(5).is_empty());
        assert_eq!(rig.at(35), [("store-away", true)]);
        for said in &mut rig.readings.said[..2] {
            said.2 = false;
        }
        assert_eq!(rig.at(40), [("parked", false), ("parked", false)]);
        assert_eq!(rig.at(45), [("token-expiring", true)]);
        assert_eq!(rig.judge.active().len(), ACTIVE_MAX);
    }

    #[test]
    fn what_engines_say_is_passed_on_and_ends_when_they_take_it_back_or_leave() {
        let mut rig = Rig::new();
        let consumer: semel_core::Scope = "mail".parse().unwrap();
        rig.readings.said = vec![(consumer.clone(), "parked", true)];
        assert_eq!(rig.at(0), [("parked", true)]);
        assert_eq!(rig.judge.active()[0].threshold, None);
        rig.readings.said = vec![(consumer, "parked", false)];
        assert_eq!(rig.at(5), [("parked", false)]);
    }
}
