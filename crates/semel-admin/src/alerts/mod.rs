//! Alerts: what an operator should know of, judged every few seconds.
//!
//! - `table` has all alerts as data: what each means, when it fires, and the same as an expression of Prometheus; `rule` is what one is made of.
//! - `values` takes their values from the metrics; `unit` is how values are written.
//! - [`judge`] is the state machine: quiet, pending, firing. It is pure; `task` gives it the metrics every few seconds and says what has changed.
//! - `webhook` sends what has changed to a receiver; `board` is what pages and the API show.
//! - `prometheus` writes the rules file.
//!
//! Alerts about consumers whose thresholds are in their policies are judged by the engine that runs them; here they are only passed on, so that
//! nothing has two judges. There is no hysteresis: an alert that flutters has a threshold that does not fit.

mod board;
pub mod judge;
#[cfg(test)]
mod judged;
mod prometheus;
mod rule;
mod settings;
mod table;
pub(crate) mod task;
mod unit;
mod values;
mod webhook;

pub use board::Board;
pub use prometheus::rules as prometheus_rules;
pub use rule::{About, Bound, Rule, Severity};
pub use settings::{Settings, Webhook};
pub use table::RULES;
pub use unit::Unit;

use std::fmt;
use std::sync::Arc;

/// What an alert is about, if it is not the process or its store as a whole: a label of the metrics and its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The label: `consumer`, `scope`, `port`, `token` or `budget`.
    pub kind: &'static str,
    /// Its value.
    pub name: Arc<str>,
}

impl Subject {
    /// This one.
    pub fn new(kind: &'static str, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        Self { kind, name }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
