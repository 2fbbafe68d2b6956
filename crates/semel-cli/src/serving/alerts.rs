//! What the file says about alerts, as the admin side takes it.

use std::{env, fs};

use semel_admin::alerts::{Rule, Settings, Webhook};
use semel_inbox::source::StandardKey;
use semel_policy::File;
use semel_policy::file::{Admin, AlertWebhook};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// Where Linux tells the name of the machine.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// The settings; refuses a webhook that nothing can be posted to.
pub(crate) fn settings(file: &File) -> Result<Settings> {
    let alerts = &file.alerts;
    let instance = alerts.instance.as_ref();
    let written = alerts.thresholds.written().into_iter();
    let thresholds = written.filter_map(|(name, value)| Some((Rule::named(name)?.name, value)));
    Ok(Settings {
        instance: instance.map_or_else(|| instance_of(&file.admin), |name| name.0.0.clone()),
        thresholds: thresholds.collect(),
        webhook: alerts.webhook.as_ref().map(webhook).transpose()?,
        ..Settings::default()
    })
}

/// What a process is called unless the file says it: the machine and the address of its admin side.
fn instance_of(admin: &Admin) -> String {
    let machine = machine().unwrap_or_else(|| "unknown".to_owned());
    match admin {
        Admin::On { listen, .. } => format!("{machine}/{listen}"),
        Admin::Off => machine,
    }
}

/// The name of this machine, where the system tells it as a file or a variable.
fn machine() -> Option<String> {
    let told = fs::read_to_string(HOSTNAME).ok();
    let told = told.or_else(|| env::var("HOSTNAME").ok())?;
    let name = told.trim();
    (!name.is_empty()).then(|| name.to_owned())
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
    use semel_policy::schema;

    fn of(text: &str) -> Result<Settings> {
        settings(&File::parse("semel.yaml", text, []).unwrap())
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
    fn a_process_is_called_as_the_file_says_or_by_its_machine_and_address() {
        let named = of("alerts: { instance: shop-1 }").unwrap();
        assert_eq!(named.instance, "shop-1");
        let unnamed = of("admin: { listen: 127.0.0.1:7171 }").unwrap();
        assert!(
            unnamed.instance.ends_with("/127.0.0.1:7171"),
            "{}",
            unnamed.instance
        );
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
