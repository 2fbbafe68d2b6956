//! What each metric is called, its kind, its labels and its meaning: read from a text in which every metric has a series, so that the page about
//! them, the rules for Prometheus and the dashboard for Grafana are held to what is really shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use semel_core::duplicate::{Duplicate, Origin};
use semel_core::inbox::{Cause, Counts, Message, Receipt, State};
use semel_core::record::UnknownCause;
use semel_core::store::{StoreObserver as _, Swept, Verb};
use semel_core::{Budget, Identity, Kind, Scope, Timestamp};
use semel_http::RequestObserver as _;
use semel_http::event::{Answered, Event, What};
use semel_http::quota::Limit;
use semel_inbox::source::SourceView;
use semel_inbox::{AttemptEnd, CircuitState, Observer as _};

use super::{Met, Metrics};
use crate::alerts::Subject;

/// A metric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Described {
    /// Its name, without the endings of its series.
    pub name: String,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: String,
    /// The labels of its series.
    pub labels: BTreeSet<String>,
    /// What it says.
    pub help: String,
}

impl Described {
    /// The names of its series.
    pub fn series(&self) -> Vec<String> {
        let endings: &[&str] = match self.kind.as_str() {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        endings
            .iter()
            .map(|ending| format!("{}{ending}", self.name))
            .collect()
    }
}

/// All metrics, by name.
pub fn described() -> Vec<Described> {
    let metrics = Metrics::new();
    store(&metrics);
    doors(&metrics);
    messages(&metrics);
    process(&metrics);
    read(&metrics.text())
}

/// What a text says about its metrics. `le` belongs to every histogram and is left out.
fn read(text: &str) -> Vec<Described> {
    let mut all: BTreeMap<String, Described> = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, help)) = line
            .strip_prefix("# HELP ")
            .and_then(|rest| rest.split_once(' '))
        {
            let metric = all.entry(name.to_owned()).or_default();
            name.clone_into(&mut metric.name);
            help.trim_end_matches('.').clone_into(&mut metric.help);
        } else if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|rest| rest.split_once(' '))
        {
            kind.clone_into(&mut all.entry(name.to_owned()).or_default().kind);
        } else if let Some((series, labels)) = line.split_once('{') {
            let metric = all
                .values_mut()
                .find(|metric| metric.series().iter().any(|one| one == series));
            let labels = labels
                .split(',')
                .filter_map(|label| Some(label.split_once("=\"")?.0.to_owned()));
            if let Some(metric) = metric {
                metric.labels.extend(labels.filter(|label| label != "le"));
            }
        }
    }
    all.into_values().collect()
}

fn store(metrics: &Metrics) {
    metrics.verbs.called(Verb::Claim, 1, Duration::ZERO);
    metrics.verbs.met(Met::Granted);
    metrics.verbs.failed(Verb::Claim, Kind::Unavailable);
    metrics.committed(1, Duration::ZERO);
    metrics.swept(Ok(&Swept {
        more: true,
        ..Swept::default()
    }));
    metrics.became_unknown(UnknownCause::RunUndecided);
    metrics.watch_cache(|| (1, 1));
}

fn doors(metrics: &Metrics) {
    let scope = any();
    metrics.saw(&Event {
        scope: &scope,
        identity: None,
        what: What::Replayed,
        status: 200,
        took: Duration::ZERO,
    });
    metrics.saw_unguarded(&axum::http::Method::POST);
    metrics.limited.limited(Limit::ALL[0], &scope);
    metrics.count_duplicate(&Duplicate {
        age: Some(Duration::ZERO),
        ..Duplicate::of(&scope, Origin::ClientRetry)
    });
    metrics.saw_upstream(&scope, Answered::Status(200), Duration::ZERO);
    metrics.watch_budget("runs", &Budget::new(1));
    metrics.watch_port("gateway", || semel_listen::Load {
        connections: 0,
        in_flight: 0,
    });
    metrics.watch_certificate("gateway", || Some(0));
}

fn messages(metrics: &Metrics) {
    let consumer = any();
    let identity = Identity::parse("public", "any", "id").expect("three words are an identity");
    let message = Message::new(identity, "").expect("an empty payload is a payload");
    let state = State::Parked;
    for receipt in [Receipt::Stored { state }, Receipt::duplicate(state)] {
        metrics.counted.received(&message, receipt);
    }
    let end = AttemptEnd {
        state,
        cause: Some(Cause::Terminal),
        took: Duration::ZERO,
        late: false,
    };
    metrics.counted.finished(&message, end);
    metrics.counted.reclaimed(&message);
    metrics.counted.suppressed(&message, 1);
    metrics.counted.replayed(&message, true);
    metrics.id_suspected(&message, "time");
    metrics.circuits.set(&consumer, CircuitState::Closed);
    metrics
        .inbox
        .set(&[Counts::none(consumer.clone())], Timestamp::from_millis(0));
    let mut view = SourceView::new("any", consumer.clone());
    view.facts.lag = Some(0);
    metrics.watch_sources(Some(Box::new(move || vec![view.clone()])));
    metrics.alerts.say(&consumer, "parked", false);
}

fn process(metrics: &Metrics) {
    metrics.reloaded(Ok(Timestamp::from_millis(0)));
    let ends = [("any".to_owned(), Timestamp::from_millis(0))];
    metrics.process.set_tokens(ends.into_iter());
    metrics.process.show_jwks((1, 0));
    metrics.watch_spans(Box::new(|| vec![("exported", 1)]));
    metrics.noticed("delivered");
    for kind in ["scope", "port", "token", "budget"] {
        let name: Arc<str> = "any".into();
        metrics.show_alert("store-away", Some(&Subject { kind, name }), false);
    }
}

fn any() -> Scope {
    "any".parse().expect("a word is a scope")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_series_a_kind_and_a_meaning() {
        let all = described();
        for metric in &all {
            assert!(
                !metric.kind.is_empty() && !metric.help.is_empty(),
                "{metric:?}"
            );
        }
        let of = |name: &str| all.iter().find(|metric| metric.name == name).unwrap();
        let labels: Vec<&str> = of("semel_requests")
            .labels
            .iter()
            .map(String::as_str)
            .collect();
        assert_eq!(labels, ["outcome", "scope", "status"]);
        assert_eq!(of("semel_requests").series(), ["semel_requests_total"]);
        for metric in &all {
            for label in &metric.labels {
                assert!(label != "tenant" && label != "key", "{metric:?}");
            }
        }
    }

    #[test]
    fn every_metric_is_shown_once_it_has_something_to_say() {
        let metrics = Metrics::new();
        store(&metrics);
        doors(&metrics);
        messages(&metrics);
        process(&metrics);
        let text = metrics.text();
        for metric in described() {
            let shown = |series: &String| {
                let mut lines = text.lines();
                lines.any(|line| line.starts_with(series.as_str()) && !line.starts_with('#'))
            };
            assert!(metric.series().iter().any(shown), "{}", metric.name);
        }
    }
}
