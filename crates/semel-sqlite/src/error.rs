//! SQLite's errors, as kinds that a caller can act on.

use rusqlite::ErrorCode;
use semel_core::{Error, Kind};

/// What SQLite said while `doing` something, as an error of the core.
pub(crate) fn from_sqlite(doing: &str, error: rusqlite::Error) -> Error {
    let kind = kind_of(&error);
    let advice = match kind {
        Kind::Locked => " (another process holds the file; try again, or stop that process)",
        Kind::DiskFull => " (the disk is full; nothing was written, free some space and try again)",
        Kind::Damaged => " (the file is damaged or no SQLite database; restore it from a copy)",
        Kind::ReadOnly => " (the file or its directory cannot be written)",
        _ => "",
    };
    Error::new(kind, format!("sqlite, {doing}{advice}")).caused_by(error)
}

fn kind_of(error: &rusqlite::Error) -> Kind {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => Kind::Locked,
        Some(ErrorCode::DiskFull) => Kind::DiskFull,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Kind::Damaged,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Kind::ReadOnly,
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted,
        ) => Kind::Unavailable,
        _ => Kind::Internal,
    }
}

/// A row that this crate cannot have written.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(Kind::Damaged, format!("sqlite, {what}"))
}
