//! The configuration in force, in words, for people who look.

use semel_core::Timestamp;

/// What a process runs with. Secrets are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The file that it was read from, if any.
    pub file: Option<String>,
    /// When it was loaded.
    pub loaded_at: Option<Timestamp>,
    /// What it does, as `semel check` says it.
    pub explained: String,
    /// The settings that have changed in the file and need a restart.
    pub needs_restart: Vec<&'static str>,
    /// When a newer file was refused, if none was taken over since.
    pub refused_at: Option<Timestamp>,
}
