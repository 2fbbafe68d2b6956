//! Logging: to standard error, as text for people or as JSON for programs.

use std::io;

use semel_policy::file::{Format, Level, Log};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

/// Begins to log. The first call in a process counts.
pub(super) fn begin(log: Log) {
    let level = match log.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let logs = fmt().with_max_level(level).with_writer(io::stderr);
    // Somebody who logs already goes on doing so.
    let _ = match log.format {
        Format::Text => tracing::subscriber::set_global_default(logs.with_ansi(false).finish()),
        Format::Json => tracing::subscriber::set_global_default(logs.json().finish()),
    };
}
