//! What an alert is made of.

use std::time::Duration;

use super::table::RULES;
use super::unit::Unit;
use super::values::{Value, Values};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// An effect may have happened twice, or nothing can run: look now.
    Critical,
    /// Look today.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// The lowercase name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// What an alert looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The process.
    Process,
    /// Its store.
    Store,
    /// Each route, by its scope.
    Route,
    /// Each consumer of messages.
    Consumer,
}

impl About {
    /// The lowercase name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Store => "store",
            Self::Route => "route",
            Self::Consumer => "consumer",
        }
    }
}

/// Beyond which value an alert fires.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Above it.
    Above(f64),
    /// Below it.
    Below(f64),
}

impl Bound {
    /// The value itself.
    pub const fn value(self) -> f64 {
        match self {
            Self::Above(value) | Self::Below(value) => value,
        }
    }

    /// Whether a value is beyond `threshold`, on this bound's side.
    pub fn is_passed(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::Above(_) => value > threshold,
            Self::Below(_) => value < threshold,
        }
    }
}

/// Who judges an alert.
#[derive(Debug, Clone, Copy)]
pub(super) enum Judge {
    /// The engine that runs the consumer, by the consumer's policy.
    Policies,
    /// What runs consumers, by whether it is so.
    Engine,
    /// The admin side, by these values, with counters compared over this time.
    Admin(Duration, fn(&Values<'_>) -> Vec<Value>),
}

/// One alert.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name, which is that of its page in the documentation, too.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it looks at.
    pub about: About,
    /// What it says, in one line.
    pub summary: &'static str,
    /// What its value is.
    pub measures: &'static str,
    /// Beyond which value it fires, unless configured otherwise.
    pub bound: Bound,
    /// What the value counts.
    pub unit: Unit,
    /// How long it must hold before the alert fires.
    pub lasts: Duration,
    /// The condition for Prometheus; `{threshold}` stands for the value of the bound.
    pub expression: &'static str,
    pub(super) judge: Judge,
}

impl Rule {
    /// The rule with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.name == name)
    }

    /// Whether it has no threshold here: it is in the policies of consumers, or there is none at all.
    pub const fn is_of_policies(&self) -> bool {
        matches!(self.judge, Judge::Policies | Judge::Engine)
    }

    /// Whether it has a threshold nowhere: it fires as long as something is so, and can only be switched off.
    pub const fn is_switch(&self) -> bool {
        matches!(self.judge, Judge::Engine)
    }

    /// The page about it, in the documentation.
    pub fn runbook(&self) -> String {
        format!("{RUNBOOKS}/{}.md", self.name)
    }
}

/// Where the pages are.
const RUNBOOKS: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/alerts");
