//! Redis's errors, as kinds that a caller can act on.

use redis::{ErrorKind, RedisError, ServerError, ServerErrorKind};
use semel_core::{Error, Kind};

use crate::script::Again;

/// What a server says that has no connection left.
pub(crate) const FULL: &str = "max number of clients";

/// What Redis said while `doing` something, as an error of the core.
pub(crate) fn from_redis(doing: &str, error: RedisError) -> Error {
    let kind = kind_of(&error);
    let advice = match (kind, error.code()) {
        (Kind::ReadOnly, _) => " (the server is a replica; name its primary)",
        (Kind::DiskFull, Some("OOM")) => {
            " (the server's memory is full; nothing was written, raise maxmemory or shorten retentions)"
        }
        (Kind::DiskFull, _) => {
            " (the server cannot write to its disk; nothing was written, see the server's log)"
        }
        (Kind::Invalid, Some("NOPERM")) => " (the user of the URL lacks a permission)",
        (Kind::Invalid, _) => " (check user and password of the URL)",
        _ => "",
    };
    Error::new(kind, format!("redis, {doing}{advice}")).caused_by(error)
}

fn kind_of(error: &RedisError) -> Kind {
    match error.kind() {
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound | ErrorKind::Parse => {
            Kind::Unavailable
        }
        ErrorKind::AuthenticationFailed => Kind::Invalid,
        ErrorKind::InvalidClientConfig => Kind::Invalid,
        ErrorKind::Server(kind) => match kind {
            ServerErrorKind::ReadOnly => Kind::ReadOnly,
            ServerErrorKind::BusyLoading
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask => Kind::Unavailable,
            ServerErrorKind::NoPerm => Kind::Invalid,
            _ => kind_of_text(error),
        },
        _ => kind_of_text(error),
    }
}

/// By the first word of what the server said, where the driver has no kind for it.
fn kind_of_text(error: &RedisError) -> Kind {
    match error.code() {
        Some("OOM" | "MISCONF") => Kind::DiskFull,
        Some("READONLY") => Kind::ReadOnly,
        Some("NOAUTH" | "WRONGPASS") => Kind::Invalid,
        Some("NOREPLICAS" | "BUSY" | "UNBLOCKED") => Kind::Unavailable,
        // Redis 6 tells of these inside of the error of the script.
        _ => match error.to_string() {
            text if text.contains("-OOM ") || text.contains("-MISCONF ") => Kind::DiskFull,
            text if text.contains("-READONLY ") => Kind::ReadOnly,
            // A slot that is on its way to another node has keys on both.
            text if text.contains("non local key") => Kind::Unavailable,
            text if text.contains(FULL) => Kind::Unavailable,
            _ => Kind::Internal,
        },
    }
}

/// Whether asking again, maybe on another connection, may help within the call. A server that takes no writes may be a
/// primary soon, or its address lead to one.
pub(crate) fn is_passing(error: &RedisError, again: Again) -> bool {
    match kind_of(error) {
        Kind::Unavailable => true,
        Kind::ReadOnly => again == Again::Always,
        _ => false,
    }
}

/// Whether the server that sent this is a replica.
pub(crate) fn is_readonly(error: &ServerError) -> bool {
    kind_of(&error.clone().into()) == Kind::ReadOnly
}

/// What the server said to a script that wanted to write.
pub(crate) fn refused(said: &str) -> Error {
    let said = said.trim_start_matches('-');
    let (code, detail) = said.split_once(' ').unwrap_or((said, ""));
    let error = redis::make_extension_error(code.to_owned(), Some(detail.to_owned()));
    from_redis("writing", error)
}

/// The server did not answer in time.
pub(crate) fn timed_out(doing: &str, last: Option<RedisError>) -> Error {
    match last {
        Some(error) => from_redis(doing, error),
        None => Error::new(
            Kind::Unavailable,
            format!("redis, {doing}: no answer in time"),
        ),
    }
}

/// Bytes that this crate cannot have written.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(Kind::Damaged, format!("redis, {what}"))
}
