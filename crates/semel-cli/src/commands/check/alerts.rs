//! `semel check --alerts`: which alerts fire in a running process.

use semel_admin::alerts::Rule;
use semel_admin::view::{Alert, Alerts};

use crate::commands::ask;
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};

/// Asks, prints, and fails if an alert fires.
pub(super) async fn run(url: Option<&str>, config: &ConfigArg, json: bool) -> Result<()> {
    let said: Vec<String> = url.into_iter().map(str::to_owned).collect();
    let (addresses, token) = ask::whom(&said, config)?;
    let mut firing = 0;
    for address in &addresses {
        let question = ("/api/v1/alerts", "judges no alerts");
        let found: Alerts = ask::must(address, question, token.as_ref()).await?;
        firing += found
            .active
            .iter()
            .filter(|alert| alert.state == "firing")
            .count();
        match json {
            true => output::json(&found)?,
            false => output::data(&shown(&found))?,
        }
    }
    match firing {
        0 => Ok(()),
        count => {
            let fire = text::plural(count as u64, "alert fires", "alerts fire");
            Err(Error::new(Exit::Firing, fire))
        }
    }
}

fn shown(found: &Alerts) -> String {
    if found.judged_at.is_none() {
        return "· no alert was judged yet".to_owned();
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
            "judged_at": "2026-11-18T12:00:00.000Z",
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
        let quiet = Alerts {
            active: Vec::new(),
            ..found
        };
        assert_eq!(shown(&quiet), "✓ no alert fires; 0 are judged");
    }
}
