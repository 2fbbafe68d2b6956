//! Everything that is made of the table of alerts: the rules for Prometheus and their tests, the pages that say what to do, and the dashboard for
//! Grafana, which shows the same metrics.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use semel_admin::alerts::{Bound, RULES, Rule, prometheus_rules};
use semel_admin::metrics::described;
use serde_json::Value;

use crate::pages;

/// Where the part of a page ends that is written from the table.
const END: &str = "<!-- The part above is written by `cargo xtask docs`. -->";
/// What every page must say below it.
const HEADINGS: [&str; 3] = ["## What it means", "## What to look at", "## What to do"];
const RULES_FILE: &str = "packaging/prometheus/semel.rules.yaml";
/// The chart's copy: a chart holds its own files only.
const CHART_RULES_FILE: &str = "packaging/helm/semel/files/semel.rules.yaml";
const RULES_TESTS: &str = "packaging/prometheus/semel.rules.test.yaml";
const GRAFANA: &str = "packaging/grafana/semel.json";

const INDEX: &str = "\
# Alerts

<!-- Written by `cargo xtask docs` from crates/semel-admin/src/alerts/table.rs. -->

The process judges these alerts every 5 seconds while its admin side is on. `GET /api/v1/alerts`, the dashboard at `/alerts`, the metric `semel_alert`, the log (`alert-began`, `alert-ended`) and a
[webhook](../guides/operating.md#alerts) show what fires; `semel check --alerts` asks a running process and ends with code 5 if a warning or a critical alert fires. The same alerts are rules for Prometheus in
`packaging/prometheus/semel.rules.yaml`. `alerts.thresholds` in semel.yaml sets a threshold or switches an alert off; what a consumer is judged by is in `alerts` of its policy.

| alert | severity | looks at | fires | says |
|---|---|---|---|---|
";

fn fires(rule: &Rule) -> String {
    let lasts = match rule.lasts.as_secs() {
        0 => String::new(),
        seconds => format!(
            " for {}",
            semel_core::duration::show(std::time::Duration::from_secs(seconds))
        ),
    };
    match (rule.is_of_policies(), rule.bound) {
        (true, _) if rule.is_switch() => "as long as that is so".to_owned(),
        (true, _) => "by the consumer's policy".to_owned(),
        (false, Bound::Above(value)) => format!("above {}{lasts}", rule.unit.show(value)),
        (false, Bound::Below(value)) => format!("below {}{lasts}", rule.unit.show(value)),
    }
}

#[test]
fn the_page_about_alerts_lists_them_all() {
    let mut page = INDEX.to_owned();
    for rule in RULES {
        let (name, severity, about) = (rule.name, rule.severity.name(), rule.about.name());
        let (fires, summary) = (fires(rule), rule.summary);
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| [`{name}`]({name}.md) | {severity} | {about} | {fires} | {summary} |"
        );
    }
    pages::check_file("docs/alerts/README.md", &page);
}

fn frame(rule: &Rule) -> String {
    let (name, summary, measures) = (rule.name, rule.summary, rule.measures);
    let (severity, about, fires) = (rule.severity.name(), rule.about.name(), fires(rule));
    let setting = name.replace('-', "_");
    let silence = match (rule.is_of_policies(), rule.is_switch()) {
        (false, _) => format!("`alerts.thresholds.{setting}` in semel.yaml sets another threshold, or `off`; `SIGHUP` takes it over"),
        (true, true) => format!("`alerts.thresholds.{setting}: false` in semel.yaml, for all consumers; `SIGHUP` takes it over, and `semel_alert` shows it no more"),
        (true, false) => "`alerts` in the consumer's policy: another threshold, `off` or `false`; `SIGHUP` takes it over".to_owned(),
    };
    format!(
        "# {name}\n\n{summary}.\n\n| | |\n|---|---|\n| severity | {severity} |\n| looks at | {about} |\n| value | {measures} |\n\
         | fires | {fires} |\n| to silence it | {silence} |\n\n{END}\n"
    )
}

#[test]
fn the_page_about_each_alert_says_what_to_look_at_and_what_to_do() {
    for rule in RULES {
        let path = format!("docs/alerts/{}.md", rule.name);
        let found = pages::read(&path);
        let written = found.split_once(END).map_or("", |(_, written)| written);
        for heading in HEADINGS {
            assert!(written.contains(heading), "{path} does not say {heading:?}");
        }
        pages::check_file(&path, &format!("{}{written}", frame(rule).trim_end()));
    }
}

#[test]
fn the_page_about_rules_for_prometheus_is_made_of_the_table() {
    for path in [RULES_FILE, CHART_RULES_FILE] {
        pages::check_file(path, &prometheus_rules());
    }
}

/// `promtool`, beside the Prometheus that the variable names.
fn promtool(args: &[&str]) {
    let prometheus = std::env::var_os("SEMEL_TEST_PROMETHEUS").expect(
        "SEMEL_TEST_PROMETHEUS is not set: run `cargo xtask test`, or `cargo xtask services up prometheus` and export what it prints",
    );
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(PathBuf::from(prometheus).with_file_name("promtool"))
        .args(args)
        .current_dir(root)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{args:?}: {said}");
}

#[test]
fn prometheus_accepts_the_rules_and_each_fires_when_it_should() {
    promtool(&["check", "rules", RULES_FILE]);
    promtool(&["test", "rules", RULES_TESTS]);
    let tests = pages::read(RULES_TESTS);
    for line in pages::read(RULES_FILE).lines() {
        if let Some(name) = line.trim().strip_prefix("- alert: ") {
            let tested = tests.matches(&format!("alertname=\"{name}\"")).count();
            assert!(
                tested >= 2,
                "{name} needs a test in which it fires and one in which it does not, found {tested}"
            );
        }
    }
}

/// The series that are really shown, and their labels.
fn series() -> BTreeMap<String, BTreeSet<String>> {
    let metrics = described().into_iter();
    metrics
        .flat_map(|metric| {
            metric
                .series()
                .into_iter()
                .map(move |series| (series, metric.labels.clone()))
        })
        .collect()
}

/// Names of series in an expression, and the labels in the braces behind each.
fn used(expression: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(at) = rest.find("semel_") {
        rest = &rest[at..];
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let inside = after
            .strip_prefix('{')
            .and_then(|after| after.split_once('}'));
        let labels = inside.map_or_else(Vec::new, |(inside, _)| {
            let labels = inside
                .split(',')
                .filter_map(|label| label.split_once(['=', '!']));
            labels.map(|(label, _)| label.trim().to_owned()).collect()
        });
        found.push((name.to_owned(), labels));
        rest = after;
    }
    found
}

fn assert_known(what: &str, expression: &str, known: &BTreeMap<String, BTreeSet<String>>) {
    let used = used(expression);
    assert!(
        !used.is_empty(),
        "{what}: {expression} uses no metric of Semel"
    );
    for (name, labels) in used {
        let Some(has) = known.get(&name) else {
            panic!("{what}: no series is called {name}");
        };
        for label in labels {
            let is_known = has.contains(&label) || ["job", "instance"].contains(&label.as_str());
            assert!(is_known, "{what}: {name} has no label {label}");
        }
    }
}

#[test]
fn rules_use_only_metrics_and_labels_that_are_shown() {
    let known = series();
    for rule in RULES {
        assert_known(rule.name, rule.expression, &known);
    }
}

/// Every expression of a dashboard, wherever it stands.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str() {
                    Some(text) if name == "expr" => found.push(text.to_owned()),
                    _ => expressions(field, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_dashboard_for_grafana_shows_only_metrics_that_there_are() {
    let dashboard: Value = serde_json::from_str(&pages::read(GRAFANA)).unwrap();
    let (known, mut found) = (series(), Vec::new());
    expressions(&dashboard, &mut found);
    assert!(found.len() >= 20, "{found:?}");
    for expression in found {
        assert_known(GRAFANA, &expression, &known);
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
}

#[test]
fn the_panel_of_late_outcomes_counts_as_their_alert_does() {
    let dashboard: Value = serde_json::from_str(&pages::read(GRAFANA)).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    let late = |expression: &&String| expression.contains("late") && expression.contains("1h");
    let shown: Vec<&String> = found.iter().filter(late).collect();
    let [shown] = shown[..] else {
        panic!("expected one panel, found {shown:?}");
    };
    let shown = shown.replace("instance=~\"$instance\",", "");
    let rule = Rule::named("side-effect-duplicate").unwrap();
    let counted: Vec<&str> = rule
        .expression
        .split("sum by (instance) ")
        .filter_map(|part| Some(part.split_once(" > {threshold}")?.0))
        .collect();
    assert_eq!(counted.len(), 2, "{}", rule.expression);
    for part in counted {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}
