//! `log`: what is said about the work, and how.

use schemars::JsonSchema;
use serde::Deserialize;

/// What is logged on standard error, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The least important lines that are still written. Default: info.
    pub level: Level,
    /// How lines look. Default: text.
    pub format: Format,
}

/// How important a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What failed.
    Error,
    /// What needs attention.
    Warn,
    /// Every change of state.
    #[default]
    Info,
    /// Every request.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The name used in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}
