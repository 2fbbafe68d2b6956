//! `semel check --alerts`: which alerts fire in a running process.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use semel_admin::alerts::{Rule, Severity};
use semel_admin::view::{Alert, Alerts};
use semel_core::duration;

use crate::commands::ask;
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};

/// Alerts are judged every few seconds. When the last time was so long ago, what they said says nothing about now.
const JUDGED_AGO_MAX_MS: u64 = 60_000;

/// How bad an alert must be to count.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(super) enum AtLeast {
    /// Every alert
    Info,
    /// Warnings, and what is critical
    #[default]
    Warning,
    /// Only what is critical
    Critical,
}

impl AtLeast {
    /// Whether this alert fires and is bad enough.
    fn counts(self, alert: &Alert) -> bool {
        let least = match self {
            Self::Info => Severity::Info,
            Self::Warning => Severity::Warning,
            Self::Critical => Severity::Critical,
        };
        let milder = [Severity::Info, Severity::Warning, Severity::Critical]
            .into_iter()
            .filter(|severity| *severity > least);
        let is_milder = milder
            .map(Severity::name)
            .any(|name| name == alert.severity);
        alert.state == "firing" && !is_milder
    }
}

/// Asks, prints, and fails if an alert fires or if that is not known.
pub(super) async fn run(
    (admin, ca): (Option<&str>, Option<&Path>),
    least: AtLeast,
    config: &ConfigArg,
    json: bool,
) -> Result<()> {
    let said: Vec<String> = admin.into_iter().map(str::to_owned).collect();
    let (addresses, token) = ask::whom(&said, ca, config)?;
    let (mut firing, mut unjudged) = (0, None);
    for address in &addresses {
        let question = ("/api/v1/alerts", "judges no alerts");
        let found: Alerts = ask::must(address, question, token.as_ref()).await?;
        let active = found.active.iter();
        firing += active.filter(|alert| least.counts(alert)).count();
        unjudged = unjudged.or_else(|| Some(format!("{address}: {}", why_unjudged(&found)?)));
        match json {
            true => output::json(&found)?,
            false => output::data(&shown(&found))?,
        }
    }
    match (firing, unjudged) {
        (0, None) => Ok(()),
        (0, Some(why)) => Err(Error::new(Exit::Unavailable, why)),
        (count, _) => {
            let fire = text::plural(count as u64, "alert fires", "alerts fire");
            Err(Error::new(Exit::Firing, fire))
        }
    }
}

/// Why what a process said does not say how its alerts stand now.
fn why_unjudged(found: &Alerts) -> Option<String> {
    if found.judged_at.is_none() {
        return Some("no alert was judged yet".to_owned());
    }
    let ago = found.judged_ago_ms.filter(|ago| *ago > JUDGED_AGO_MAX_MS)?;
    let ago = duration::show(Duration::from_millis(ago));
    Some(format!("alerts were judged {ago} ago for the last time"))
}

fn shown(found: &Alerts) -> String {
    if let Some(why) = why_unjudged(found).filter(|_| found.active.is_empty()) {
        return format!("· {why}");
    }
    match found.active.as_slice() {
        [] => format!("✓ no alert fires; {} are judged", judged(found)),
        active => active.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

fn judged(found: &Alerts) -> usize {
    found.rules.iter().filter(|rule| rule.on).count()
}

fn line(alert: &Alert) -> String {
    let mark = if alert.state == "firing" { '✗' } else { '·' };
    let about = alert.subject.as_ref();
    let about = about.map_or_else(String::new, |about| {
        format!(" of {} {}", about.kind, text::printable(&about.name))
    });
    let (name, severity, state, since) = (&alert.name, &alert.severity, &alert.state, &alert.since);
    let value = value(alert);
    let (summary, runbook) = (&alert.summary, &alert.runbook);
    format!(
        "{mark} {name}{about}: {severity}, {state}, since {since}{value}\n    {summary}\n    → {runbook}"
    )
}

/// The value and its threshold; nothing of what a consumer's policy judges.
fn value(alert: &Alert) -> String {
    let unit = Rule::named(&alert.name).map(|rule| rule.unit);
    let shown = unit.zip(alert.threshold).map(|(unit, threshold)| {
        let (value, threshold) = (unit.show(alert.value), unit.show(threshold));
        format!(", {value} against {threshold}")
    });
    shown.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fires_is_shown_with_what_it_is_about_and_where_to_read_on() {
        let json = serde_json::json!({
            "judged_at": "2026-11-18T12:00:00.000Z", "judged_ago_ms": 4000,
            "active": [{
                "name": "duplicate-rate", "severity": "warning", "state": "firing",
                "subject": { "kind": "scope", "name": "payments@1" },
                "summary": "Many requests of a route are duplicates", "since": "2026-11-18T11:00:00.000Z",
                "value": 0.25, "threshold": 0.1, "unit": "share", "runbook": "https://example.com/duplicate-rate.md"
            }],
            "rules": []
        });
        let found: Alerts = serde_json::from_value(json).unwrap();
        assert_eq!(
            shown(&found),
            "✗ duplicate-rate of scope payments@1: warning, firing, since 2026-11-18T11:00:00.000Z, 25.0 % against 10.0 %\n    \
             Many requests of a route are duplicates\n    → https://example.com/duplicate-rate.md"
        );
        let of = |least: AtLeast| least.counts(&found.active[0]);
        assert!(of(AtLeast::Info) && of(AtLeast::Warning) && !of(AtLeast::Critical));
        let quiet = Alerts {
            active: Vec::new(),
            ..found
        };
        assert_eq!(shown(&quiet), "✓ no alert fires; 0 are judged");
        assert_eq!(why_unjudged(&quiet), None);
        let old = Alerts {
            judged_ago_ms: Some(61_000),
            ..quiet
        };
        let said = "alerts were judged 1m 1s ago for the last time";
        assert_eq!(why_unjudged(&old).as_deref(), Some(said));
        assert_eq!(shown(&old), format!("· {said}"));
    }
}
