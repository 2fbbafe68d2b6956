//! Exit codes: small numbers of our own, and `sysexits.h` where it has one that fits.

use std::process::ExitCode;

use semel_core::Kind;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done,
    /// The operation failed or was refused.
    Refused,
    /// The command line was not understood; clap ends the program with it.
    Usage,
    /// There is no such record.
    NotFound,
    /// Several records match where one is meant.
    Ambiguous,
    /// Alerts fire in the process that was asked.
    Firing,
    /// The store cannot answer now.
    Unavailable,
    /// Data could not be read or written, or is damaged.
    Io,
    /// What was configured cannot work.
    Configuration,
}

impl Exit {
    const ALL: [Self; 9] = [
        Self::Done,
        Self::Refused,
        Self::Usage,
        Self::NotFound,
        Self::Ambiguous,
        Self::Firing,
        Self::Unavailable,
        Self::Io,
        Self::Configuration,
    ];

    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Ambiguous => 4,
            Self::Firing => 5,
            Self::Unavailable => 69,
            Self::Io => 74,
            Self::Configuration => 78,
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused or failed",
            Self::Usage => "the command line was not understood",
            Self::NotFound => "there is no such record",
            Self::Ambiguous => "several records match; name scope and tenant, too",
            Self::Firing => "alerts fire (semel check --alerts)",
            Self::Unavailable => {
                "the store is locked, or it or the process that is asked cannot answer; try again"
            }
            Self::Io => "data is damaged, the disk is full, or input and output failed",
            Self::Configuration => {
                "bad configuration: no such store, no permission, or from a newer Semel"
            }
        }
    }

    /// The code for what a store said.
    pub(crate) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Unavailable | Kind::Locked => Self::Unavailable,
            Kind::Damaged | Kind::DiskFull => Self::Io,
            Kind::Invalid | Kind::NewerVersion | Kind::ReadOnly => Self::Configuration,
            // Limits, bugs of ours, and kinds that the core may add later.
            _ => Self::Refused,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The table of exit codes for `--help`.
pub(crate) fn help() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:>2}  {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.join("\n"))
}
