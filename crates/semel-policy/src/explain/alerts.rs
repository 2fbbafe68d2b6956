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
    if let Some(instance) = &alerts.instance {
        said.push(format!("notices of alerts come from {}", instance.0.0));
    }
    for (name, threshold) in alerts.thresholds.written() {
        said.push(match threshold {
            Some(value) => format!("alert {name} has a threshold of its own: {value}"),
            None => format!("alert {name} is off"),
        });
    }
    said
}
