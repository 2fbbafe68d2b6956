//! How alerts look as JSON.

use semel_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::millis;
use crate::alerts::judge::{Active, Change};
use crate::alerts::{Board, Rule, Subject};

/// How alerts stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alerts {
    /// When they were judged last; null before the first time.
    pub judged_at: Option<String>,
    /// How long ago that was, in milliseconds, by the clock of the process; null before the first time.
    #[serde(default)]
    pub judged_ago_ms: Option<u64>,
    /// Those that are pending or fire: what fires first, then the worst.
    pub active: Vec<Alert>,
    /// All alerts there are, and when they fire.
    pub rules: Vec<AlertRule>,
}

/// An alert that is pending or fires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Its name.
    pub name: String,
    /// `critical`, `warning` or `info`.
    pub severity: String,
    /// What it is about; null for the process or its store as a whole.
    pub subject: Option<AlertSubject>,
    /// `firing`, or `pending` while its condition has not held for long enough.
    pub state: String,
    /// What it says.
    pub summary: String,
    /// Since when its condition holds.
    pub since: String,
    /// The value when it was judged last.
    pub value: f64,
    /// Beyond which value it fires; null where the consumer's policy says so.
    pub threshold: Option<f64>,
    /// What value and threshold count: `count`, `share`, `seconds` or `bytes`.
    pub unit: String,
    /// The page that says what to do.
    pub runbook: String,
}

/// What an alert is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlertSubject {
    /// `consumer`, `scope`, `port`, `token` or `budget`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// An alert, and when it fires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertRule {
    /// Its name.
    pub name: String,
    /// `critical`, `warning` or `info`.
    pub severity: String,
    /// What it looks at: `process`, `store`, `route` or `consumer`.
    pub about: String,
    /// What it says.
    pub summary: String,
    /// What its value is.
    pub measures: String,
    /// Whether it is judged; false if the configuration switches it off.
    pub on: bool,
    /// Beyond which value it fires; null if it is off, or where consumers' policies say so.
    pub threshold: Option<f64>,
    /// What the threshold counts: `count`, `share`, `seconds` or `bytes`.
    pub unit: String,
    /// How long its condition must hold, in milliseconds.
    pub for_ms: u64,
    /// The page that says what to do.
    pub runbook: String,
}

impl Alerts {
    /// How they stand on this board at this moment.
    pub fn of(board: &Board, now: Timestamp) -> Self {
        let standing = board.standing();
        let known = |alert: &Active| Some(Alert::of(Rule::named(alert.rule)?, alert));
        let rules = board.rules().into_iter();
        Self {
            judged_at: standing.judged_at.map(|at| at.to_string()),
            judged_ago_ms: standing.judged_at.map(|at| millis(now.since(at))),
            active: standing.active.iter().filter_map(known).collect(),
            rules: rules
                .map(|(rule, threshold)| AlertRule::of(rule, threshold))
                .collect(),
        }
    }
}

impl Alert {
    fn of(rule: &Rule, alert: &Active) -> Self {
        Self {
            name: rule.name.to_owned(),
            severity: rule.severity.name().to_owned(),
            subject: alert.subject.as_ref().map(AlertSubject::of),
            state: if alert.firing { "firing" } else { "pending" }.to_owned(),
            summary: rule.summary.to_owned(),
            since: alert.since.to_string(),
            value: alert.value,
            threshold: alert.threshold,
            unit: rule.unit.name().to_owned(),
            runbook: rule.runbook(),
        }
    }
}

impl AlertSubject {
    fn of(subject: &Subject) -> Self {
        Self {
            kind: subject.kind.to_owned(),
            name: subject.name.to_string(),
        }
    }
}

impl AlertRule {
    fn of(rule: &Rule, threshold: Option<f64>) -> Self {
        Self {
            name: rule.name.to_owned(),
            severity: rule.severity.name().to_owned(),
            about: rule.about.name().to_owned(),
            summary: rule.summary.to_owned(),
            measures: rule.measures.to_owned(),
            on: threshold.is_some(),
            threshold: threshold.filter(|_| !rule.is_of_policies()),
            unit: rule.unit.name().to_owned(),
            for_ms: millis(rule.lasts),
            runbook: rule.runbook(),
        }
    }
}

/// What a receiver of notices gets.
#[derive(Debug, Serialize)]
struct Notice<'a> {
    /// `alert.firing` or `alert.resolved`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// When the alert began to fire or ended.
    timestamp: String,
    /// The process that judged it.
    instance: &'a str,
    /// The same for all notices of one alert about one thing in one process, also after it was started again.
    dedup_key: String,
    data: Alert,
}

/// The notice of a change in this process, as JSON text.
pub(crate) fn notice(rule: &Rule, change: &Change, instance: &str) -> String {
    let mut data = Alert::of(rule, &change.alert);
    let kind = match change.alert.firing {
        true => "alert.firing",
        false => {
            "resolved".clone_into(&mut data.state);
            "alert.resolved"
        }
    };
    let timestamp: Timestamp = change.at;
    let notice = Notice {
        kind,
        timestamp: timestamp.to_string(),
        instance,
        dedup_key: dedup_key(instance, &change.alert),
        data,
    };
    serde_json::to_string(&notice).expect("a notice is valid JSON")
}

fn dedup_key(instance: &str, alert: &Active) -> String {
    let name = alert.rule;
    match &alert.subject {
        Some(Subject { kind, name: of }) => format!("{instance}/{name}/{kind}={of}"),
        None => format!("{instance}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_names_its_process_and_has_one_key_from_beginning_to_end() {
        let rule = Rule::named("budget-full").unwrap();
        let notice = |instance: &str, budget: &str, firing| {
            let alert = Active {
                rule: rule.name,
                subject: Some(Subject::new("budget", budget)),
                firing,
                since: Timestamp::from_millis(0),
                value: 1.0,
                threshold: None,
            };
            let at = Timestamp::from_millis(1_000);
            let text = super::notice(rule, &Change { alert, at }, instance);
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        };
        let began = notice("gw-1/127.0.0.1:7071", "runs", true);
        assert_eq!(began["instance"], "gw-1/127.0.0.1:7071");
        let key = "gw-1/127.0.0.1:7071/budget-full/budget=runs";
        assert_eq!(began["dedup_key"], key);
        let ended = notice("gw-1/127.0.0.1:7071", "runs", false);
        assert_eq!(ended["type"], "alert.resolved");
        assert_eq!(ended["dedup_key"], key);
        for other in [
            notice("gw-2/127.0.0.1:7071", "runs", true),
            notice("gw-1/127.0.0.1:7071", "waiting", true),
        ] {
            assert_ne!(other["dedup_key"], key);
        }
    }
}
