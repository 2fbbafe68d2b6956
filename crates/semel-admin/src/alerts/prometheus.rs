//! The alerts as a rules file for Prometheus, from the same table.

use std::fmt::Write as _;

use super::{RULES, Rule, Unit};

const HEAD: &str = "\
# Alerts on Semel for Prometheus. Written by `cargo xtask docs` from crates/semel-admin/src/alerts/table.rs.
#
# The thresholds are the usual ones: those of `alerts` in semel.yaml hold for what Semel judges by itself (dashboard, webhook,
# `semel check --alerts`). Those of consumers are in their policies, and these rules follow them by `semel_alert`.
groups:
  - name: semel
    rules:
";

/// The file.
pub fn rules() -> String {
    RULES.iter().fold(HEAD.to_owned(), |mut file, rule| {
        // Writing to a string cannot fail.
        let _ = write!(file, "{}", one(rule));
        file
    })
}

fn one(rule: &Rule) -> String {
    let expression = rule
        .expression
        .replace("{threshold}", &number(rule.bound.value()));
    let name = camel(rule.name);
    let seconds = rule.lasts.as_secs();
    let (severity, summary, runbook) = (rule.severity.name(), rule.summary, rule.runbook());
    let value = match rule.unit {
        Unit::Share => "{{ $value | humanizePercentage }}",
        Unit::Seconds => "{{ $value | humanizeDuration }}",
        Unit::Bytes => "{{ $value | humanize1024 }}B",
        Unit::Count => "{{ $value }}",
    };
    let measures = rule.measures;
    format!(
        "      - alert: {name}\n        expr: >-\n          {expression}\n        for: {seconds}s\n        labels:\n          \
         severity: {severity}\n          alert: {slug}\n        annotations:\n          summary: \"{summary}\"\n          \
         description: \"{measures}: {value}\"\n          runbook_url: {runbook}\n",
        slug = rule.name,
    )
}

/// `store-away` is `SemelStoreAway`.
fn camel(slug: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    let words: String = slug.split('-').map(word).collect();
    format!("Semel{words}")
}

/// Without an exponent, which people do not read at a glance.
fn number(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_a_name_of_prometheus_and_its_threshold() {
        let text = rules();
        for part in [
            "- alert: SemelStoreAway\n",
            "semel_store_bytes > 1000000000\n",
            "for: 300s",
            "runbook_url: ",
            "docs/alerts/store-large.md",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!text.contains("{threshold}"));
    }
}
