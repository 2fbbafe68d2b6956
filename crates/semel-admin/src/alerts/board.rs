//! What alerts look like at the moment, for the API and for pages. Clones share it.

use std::sync::Arc;

use semel_core::Timestamp;
use tokio::sync::Notify;

use super::judge::Active;
use super::{RULES, Rule, Settings};
use crate::current::Current;

/// How alerts stand. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Board {
    settings: Current<Settings>,
    standing: Current<Standing>,
    wake_up: Arc<Notify>,
}

/// How alerts stood when they were judged last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    /// `None` before the first time.
    pub(crate) judged_at: Option<Timestamp>,
    pub(crate) active: Vec<Active>,
}

impl Board {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: Current::new(settings),
            standing: Current::default(),
            wake_up: Arc::default(),
        }
    }

    /// Takes other settings, and lets alerts be judged by them at once.
    pub fn set(&self, settings: Settings) {
        self.settings.set(settings);
        self.judge_soon();
    }

    /// Lets alerts be judged at once: something has changed that an alert is about.
    pub fn judge_soon(&self) {
        self.wake_up.notify_one();
    }

    /// Until alerts are to be judged before their time.
    pub(crate) async fn woken(&self) {
        self.wake_up.notified().await;
    }

    /// The settings in force.
    pub fn settings(&self) -> Settings {
        self.settings.get()
    }

    /// All alerts and the thresholds that hold for them; `None` for one that is off.
    pub fn rules(&self) -> Vec<(&'static Rule, Option<f64>)> {
        let settings = self.settings();
        let of = |rule: &'static Rule| (rule, settings.threshold(rule));
        RULES.iter().map(of).collect()
    }

    /// The alerts that are pending or fire: what fires first, then the worst.
    pub fn active(&self) -> Vec<Active> {
        self.standing.get().active
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing.get()
    }

    pub(crate) fn judged(&self, active: Vec<Active>, at: Timestamp) {
        let judged_at = Some(at);
        self.standing.set(Standing { judged_at, active });
    }
}
