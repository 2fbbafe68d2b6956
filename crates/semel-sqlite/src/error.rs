//! SQLite's errors, as kinds that a caller can act on.

use std::io;

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

/// What the system said while `doing` something with the file.
pub(crate) fn from_io(doing: &str, error: io::Error) -> Error {
    let (kind, said) = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (Kind::ReadOnly, "permission denied")
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
            (Kind::Invalid, "expected a file in a directory that exists")
        }
        io::ErrorKind::StorageFull => (Kind::DiskFull, "the disk is full"),
        _ => (Kind::Unavailable, "the file cannot be opened"),
    };
    Error::new(kind, format!("{doing}: {said}")).caused_by(error)
}

/// A row that this crate cannot have written.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(Kind::Damaged, format!("sqlite, {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests may run as a user whom no permission binds, so what the system would say is said here.
    #[test]
    fn a_file_without_permission_is_a_matter_of_configuration_and_not_of_trying_again() {
        for (said, kind) in [
            (io::ErrorKind::PermissionDenied, Kind::ReadOnly),
            (io::ErrorKind::NotFound, Kind::Invalid),
            (io::ErrorKind::StorageFull, Kind::DiskFull),
            (io::ErrorKind::Interrupted, Kind::Unavailable),
        ] {
            let error = from_io("opening semel.db", said.into());
            assert_eq!(error.kind(), kind, "{error}");
        }
        let error = from_io("opening semel.db", io::ErrorKind::PermissionDenied.into());
        assert!(error.to_string().contains("permission denied"), "{error}");
        assert!(!error.is_retryable());
    }
}
