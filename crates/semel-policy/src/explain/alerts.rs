//! What the file changes about alerts.

use crate::file::Alerts;

/// Where notices go, and which thresholds are not the usual ones; nothing about a file that says nothing.
pub(super) fn describe(alerts: &Alerts) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(webhook) = &alerts.webhook {
        let signed = match webhook.secret {
            Some(_) => "signed by Standard Webhooks",
            None => "not signed",
        };
        said.push(format!(
            "alerts that begin or end are posted to a webhook, {signed}"
        ));
    }
    for (name, threshold) in alerts.thresholds.written() {
        said.push(match threshold {
            Some(value) => format!("alert {name} has a threshold of its own: {value}"),
            None => format!("alert {name} is off"),
        });
    }
    said
}
