//! Redis's errors, as kinds that a caller can act on.

use redis::{ErrorKind, RedisError};
use semel_core::{Error, Kind};

/// What Redis said while `doing` something, as an error of the core.
pub(crate) fn from_redis(doing: &str, error: RedisError) -> Error {
    let kind = kind_of(&error);
    let advice = match error.code() {
        Some("WRONGTYPE") => " (the key is no stream)",
        Some("NOPERM") => " (the user of the URL lacks a permission)",
        Some("NOAUTH" | "WRONGPASS") => " (check user and password of the URL)",
        Some("MOVED") => " (the server is a node of a cluster that does not hold the stream)",
        _ if is_missing(&error) => " (the stream is not there; create=true in the URL makes it)",
        _ => "",
    };
    Error::new(kind, format!("redis streams, {doing}{advice}")).caused_by(error)
}

fn kind_of(error: &RedisError) -> Kind {
    match error.kind() {
        ErrorKind::Io | ErrorKind::Parse => Kind::Unavailable,
        ErrorKind::Server(_) | ErrorKind::Extension => match passes(error) {
            true => Kind::Unavailable,
            false => Kind::Invalid,
        },
        _ => Kind::Invalid,
    }
}

/// Whether what the server said is about the moment: it loads, fails over, or has no room.
fn passes(error: &RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    let passing = [
        "LOADING",
        "BUSY",
        "TRYAGAIN",
        "MASTERDOWN",
        "CLUSTERDOWN",
        "READONLY",
        "OOM",
        "MISCONF",
        "UNBLOCKED",
        "NOREPLICAS",
        "NOGROUP",
        "NOSCRIPT",
    ];
    passing.contains(&code) || error.to_string().contains("max number of clients")
}

/// Whether another connection may do better than this one.
pub(crate) fn is_connections(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_timeout()
        || error.is_connection_dropped()
        || error.code() == Some("READONLY")
}

/// Whether the group is not there, or not any more.
pub(crate) fn is_without_group(error: &RedisError) -> bool {
    error.code() == Some("NOGROUP")
}

fn is_missing(error: &RedisError) -> bool {
    error.to_string().contains("requires the key to exist")
}

/// What this crate does not understand in an answer.
pub(crate) fn odd(what: &str) -> Error {
    Error::new(
        Kind::Invalid,
        format!("redis streams, {what} has another shape than Redis 7 gives it"),
    )
}
