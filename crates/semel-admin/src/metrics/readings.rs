//! The numbers that alerts judge, at one moment.

use std::sync::Arc;

use semel_core::Scope;

use super::gauges::Standing;
use super::histogram::Sizes;
use super::inbox::WatchedConsumer;
use super::{Met, Metrics};

/// What is counted and measured, as alerts need it. Counters count from the start of the process.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    pub(crate) store: Standing,
    /// Claims, and those among them that found the operation running.
    pub(crate) claims: u64,
    pub(crate) claims_running: u64,
    /// Outcomes that came after their lease was lost.
    pub(crate) late: u64,
    pub(crate) look_ups: Sizes,
    pub(crate) sweep_failures: u64,
    /// In Unix time, in seconds.
    pub(crate) last_swept: Option<f64>,
    /// Since when each step of the sweep has left something; in Unix time, in seconds.
    pub(crate) sweep_behind: Option<f64>,
    pub(crate) clock_jump: f64,
    pub(crate) unguarded: u64,
    /// Scopes, their requests, and the duplicates among them.
    pub(crate) traffic: Vec<(Arc<str>, u64, u64)>,
    pub(crate) budgets: Vec<(&'static str, f64)>,
    /// In Unix time, in seconds.
    pub(crate) certificates: Vec<(&'static str, f64)>,
    pub(crate) tokens: Vec<(String, f64)>,
    pub(crate) reload_ok: bool,
    pub(crate) consumers: Vec<WatchedConsumer>,
    pub(crate) stale: Vec<(Arc<str>, u64)>,
    pub(crate) sources_not_read: Vec<(String, u64)>,
    /// What engines said about alerts of their consumers.
    pub(crate) said: Vec<(Scope, &'static str, bool)>,
}

impl Metrics {
    /// The numbers of this moment. What the store and the inbox are asked for is as old as the last refresh.
    pub(crate) fn readings(&self) -> Readings {
        let said = self.alerts.all_said().into_iter();
        Readings {
            store: self.gauges.standing(),
            claims: self.verbs.claims(),
            claims_running: self.verbs.count(Met::Running),
            late: self.verbs.count(Met::Late),
            look_ups: self.verbs.look_ups(),
            sweep_failures: self.beneath.sweep_failures(),
            last_swept: self.beneath.last_swept(),
            sweep_behind: self.beneath.behind_since(),
            clock_jump: self.beneath.jump(),
            unguarded: self.requests.unguarded(),
            traffic: self.requests.traffic(),
            budgets: self.budgets.shares(),
            certificates: self.process.certificates(),
            tokens: self.process.tokens(),
            reload_ok: self.process.is_current(),
            consumers: self.counted.watched(),
            stale: self.inbox.all_stale(),
            sources_not_read: self.sources.not_read(),
            said: said
                .map(|((consumer, alert), firing)| (consumer, alert, firing))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
