//! What a configuration says about alerts.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use semel_inbox::source::StandardKey;

use super::Rule;

/// How often alerts are judged, unless told otherwise.
const EVERY: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to deliver a notice, unless told otherwise.
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// What is judged, and who hears of it. A reload replaces it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How often alerts are judged.
    pub every: Duration,
    /// What this process is called in notices. Processes of one name cannot be told apart, nor can their incidents.
    pub instance: String,
    /// The thresholds of alerts that are not the usual ones; `None` switches an alert off.
    pub thresholds: BTreeMap<&'static str, Option<f64>>,
    /// Where notices go, if anywhere.
    pub webhook: Option<Webhook>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            every: EVERY,
            instance: "semel".to_owned(),
            thresholds: BTreeMap::new(),
            webhook: None,
        }
    }
}

impl Settings {
    /// The threshold that holds for a rule; `None` if it is off.
    pub fn threshold(&self, rule: &Rule) -> Option<f64> {
        let set = self.thresholds.get(rule.name).copied();
        set.unwrap_or_else(|| Some(rule.bound.value()))
    }

    /// The alerts that are off.
    pub(super) fn off(&self) -> impl Iterator<Item = &'static str> {
        let off = self.thresholds.iter();
        off.filter_map(|(name, set)| set.is_none().then_some(*name))
    }
}

/// Who hears of alerts, by `POST`.
#[derive(Clone)]
pub struct Webhook {
    /// The address.
    pub url: String,
    /// Headers of each request; their values are secrets.
    pub headers: Vec<(String, String)>,
    /// What requests are signed with, by Standard Webhooks.
    pub key: Option<StandardKey>,
    /// How long the receiver may take to answer.
    pub timeout: Duration,
    /// The first pause after an attempt that failed; each is twice the one before.
    pub pause: Duration,
    /// The longest pause, which is at once that after a refusal that a person can lift.
    pub pause_max: Duration,
}

impl Webhook {
    /// Without headers and signature.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            key: None,
            timeout: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            pause_max: PAUSE_MAX,
        }
    }
}

impl fmt::Debug for Webhook {
    /// Headers and key are left out, and so is the URL: many receivers keep their secret in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
