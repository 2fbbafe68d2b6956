//! Logging: to standard error, as text for people or as JSON for programs.

use std::io;

use semel_policy::file::{Format, Level, Log};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, fmt, reload};

/// Changes what is logged while the process runs.
pub(super) struct Logs(reload::Handle<Targets, Registry>);

impl Logs {
    /// From now on only lines of this importance are logged.
    pub(super) fn set_level(&self, level: Level) {
        // It fails only if the subscriber is gone, and then nothing is logged at all.
        let _ = self.0.reload(filter(level));
    }
}

/// Begins to log. The first call in a process counts.
pub(super) fn begin(log: Log) -> Logs {
    let (level, handle) = reload::Layer::new(filter(log.level));
    let logs = tracing_subscriber::registry().with(level);
    let lines = fmt::layer().with_writer(io::stderr);
    // A subscriber that was set before stays, and so does its level.
    let _ = match log.format {
        Format::Text => tracing::subscriber::set_global_default(logs.with(lines.with_ansi(false))),
        Format::Json => tracing::subscriber::set_global_default(logs.with(lines.json())),
    };
    Logs(handle)
}

/// Lines of our own at the level that was asked for. Clients of brokers and servers may log what they carry, and payloads never reach logs: they have
/// their warnings, and the one that is known to log messages only its errors.
fn filter(level: Level) -> Targets {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("semel", level)
        .with_target("lapin", level.min(LevelFilter::ERROR))
}
