//! What the file says about alerts, as the admin side takes it.

use semel_admin::alerts::{Rule, Settings, Webhook};
use semel_inbox::source::StandardKey;
use semel_policy::file::{AlertWebhook, Alerts};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The settings; refuses a webhook that nothing can be posted to.
pub(crate) fn settings(alerts: &Alerts) -> Result<Settings> {
    let written = alerts.thresholds.written().into_iter();
    let thresholds = written.filter_map(|(name, value)| Some((Rule::named(name)?.name, value)));
    Ok(Settings {
        thresholds: thresholds.collect(),
        webhook: alerts.webhook.as_ref().map(webhook).transpose()?,
        ..Settings::default()
    })
}

fn webhook(written: &AlertWebhook) -> Result<Webhook> {
    let url = written.url.expose();
    let uri = url.parse::<http::Uri>().ok();
    let is_http = |uri: &http::Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    if !uri.is_some_and(|uri| is_http(&uri) && uri.host().is_some()) {
        // The address is not told: it is a secret.
        return Err(bad(
            "alerts.webhook.url: expected an address such as https://alerts.internal/semel",
        ));
    }
    let mut webhook = Webhook::new(url);
    for (name, value) in written.headers.iter() {
        let (known, value) = (name.parse::<http::HeaderName>(), value.expose());
        if known.is_err() || value.parse::<http::HeaderValue>().is_err() {
            return Err(bad(&format!(
                "alerts.webhook.headers: expected a name and a value that a header can hold, found them not at {name:?}"
            )));
        }
        webhook.headers.push((name.to_owned(), value.to_owned()));
    }
    if let Some(secret) = &written.secret {
        let key = StandardKey::parse(secret.expose());
        let key = key.map_err(|error| bad(&format!("alerts.webhook.secret: {error}")))?;
        webhook.key = Some(key);
    }
    if let Some(timeout) = written.timeout {
        webhook.timeout = timeout.0;
    }
    Ok(webhook)
}

fn bad(message: &str) -> Error {
    Error::new(Exit::Configuration, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_admin::alerts::RULES;
    use semel_policy::{File, schema};

    fn of(text: &str) -> Result<Settings> {
        settings(&File::parse("semel.yaml", text, []).unwrap().alerts)
    }

    #[test]
    fn every_alert_that_is_not_of_consumers_policies_can_be_set_and_no_other_name_is_known() {
        let schema = schema();
        let known = schema["definitions"]["Thresholds"]["properties"]
            .as_object()
            .unwrap();
        for name in known.keys() {
            assert!(Rule::named(&name.replace('_', "-")).is_some(), "{name}");
        }
        for rule in RULES.iter().filter(|rule| !rule.is_of_policies()) {
            assert!(
                known.contains_key(&rule.name.replace('-', "_")),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn thresholds_are_taken_in_their_units() {
        let text = "alerts: { thresholds: { duplicate_rate: 12.5%, lookup_slow: 250ms, store_large: 2GiB, \
                    unguarded_requests: off, unknown_waiting: 3, paused: false } }";
        let settings = of(text).unwrap();
        let expected = [
            ("duplicate-rate", Some(0.125)),
            ("lookup-slow", Some(0.25)),
            ("paused", None),
            ("store-large", Some(2_147_483_648.0)),
            ("unguarded-requests", None),
            ("unknown-waiting", Some(3.0)),
        ];
        assert_eq!(
            settings.thresholds.into_iter().collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn a_webhook_that_cannot_be_reached_or_signed_is_refused_without_its_secrets() {
        for (text, expected) in [
            (
                "{ url: 'tell-me-secret' }",
                "alerts.webhook.url: expected an address",
            ),
            (
                "{ url: 'http://a/', secret: 'whsec_secret!' }",
                "alerts.webhook.secret: expected whsec_",
            ),
            (
                "{ url: 'http://a/', headers: { 'a b': 'secret' } }",
                "alerts.webhook.headers: expected a name",
            ),
        ] {
            let error = of(&format!("alerts: {{ webhook: {text} }}")).unwrap_err();
            assert!(error.message().contains(expected), "{}", error.message());
            assert!(!error.message().contains("secret!") && !error.message().contains("tell-me"));
        }
        let webhook = of("alerts: { webhook: { url: 'http://a/b' } }")
            .unwrap()
            .webhook;
        assert_eq!(webhook.unwrap().url, "http://a/b");
    }
}
