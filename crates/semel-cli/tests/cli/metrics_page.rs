//! The metrics of the admin side as a page for people, from a text in which each of them has a series.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use semel_admin::metrics::described;

use crate::pages;

const HEAD: &str = "\
# Metrics

<!-- Written by `cargo xtask docs` from crates/semel-admin/src/metrics. -->

`GET /metrics` on the admin port, in the text format of Prometheus and OpenMetrics. A counter's series ends in `_total`, a histogram's in `_bucket`, `_sum` and `_count`; a series
shows once there is something to say, so a verb that is never called and a consumer without messages have none. A histogram also has the label `le`. No label holds a key or a tenant, and the values of
each label are bounded: 256 scopes, 256 consumers, 100 kinds of events for each consumer; what is beyond shares the value `other`.

[Alerts](alerts/README.md) are made of these; `packaging/prometheus/semel.rules.yaml` has them as rules, `packaging/grafana/semel.json` is a dashboard.
[The inbox, for operators](inbox.md#metrics-and-alerts) says which of its metrics to watch; [Operating it](guides/operating.md) which of the others.

| metric | kind | labels | what it says |
|---|---|---|---|
";

/// Every Rust source below a directory.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// The names that a source registers: a literal, and behind it another one that says what it is.
fn registered(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let literals: Vec<&str> = code.split('"').collect();
    let names = literals.windows(3).filter(|window| {
        window[0].starts_with("semel_") && window[1].trim_start_matches(',').trim().is_empty()
    });
    names.map(|window| window[0].to_owned()).collect()
}

#[test]
fn no_metric_that_is_registered_is_left_out_of_the_page() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&root.join("semel-admin/src/metrics"), &mut files);
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let names: Vec<String> = texts.flat_map(|text| registered(&text)).collect();
    assert!(names.len() > 50, "{names:?}");
    let known = described();
    for name in names {
        assert!(
            known.iter().any(|metric| metric.name == name),
            "described() shows no series of {name}"
        );
    }
}

#[test]
fn the_page_about_metrics_is_what_the_admin_side_shows() {
    let metrics = described();
    assert!(metrics.len() > 50, "{metrics:?}");
    let mut page = HEAD.to_owned();
    for metric in metrics {
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let (name, kind, labels, help) = (metric.name, metric.kind, labels.join(" "), metric.help);
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{name}` | {kind} | {labels} | {help} |");
    }
    pages::check_file("docs/metrics.md", &page);
}
