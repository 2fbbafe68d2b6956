//! The metrics of the admin side as a page for people, from where they are registered: a series without a sample does not show in `/metrics`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::pages;

const HEAD: &str = "\
# Metrics

<!-- Written by `cargo xtask docs` from crates/semel-admin/src/metrics. -->

`GET /metrics` on the admin port, in the text format of Prometheus and OpenMetrics. A counter's series ends in `_total`, a histogram's in `_bucket`, `_sum` and `_count`; a series shows once there is something to say.
[The inbox, for operators](../inbox.md#metrics-and-alerts) says which of its metrics to watch, with their labels; [Operating it](../guides/operating.md) which of the others.

| metric | what it says |
|---|---|
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

/// The names and texts that a source registers: two literals, one after the other.
fn registered(source: &str) -> Vec<(String, String)> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let literals: Vec<&str> = code.split('"').collect();
    let names = literals.windows(3).filter(|window| {
        window[0].starts_with("semel_") && window[1].trim_start_matches(',').trim().is_empty()
    });
    names
        .map(|window| (window[0].to_owned(), window[2].to_owned()))
        .collect()
}

#[test]
fn the_page_about_metrics_is_what_the_admin_side_registers() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&root.join("semel-admin/src/metrics"), &mut files);
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let mut metrics: Vec<(String, String)> = texts.flat_map(|text| registered(&text)).collect();
    metrics.sort();
    assert!(metrics.len() > 30, "{metrics:?}");
    let mut page = HEAD.to_owned();
    for (name, text) in metrics {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{name}` | {text} |");
    }
    pages::check("metrics.md", &page);
}
