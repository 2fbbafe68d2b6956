//! The driver's errors as Semel's: what passes by itself is `Unavailable`, what an operator must change is `Invalid`.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{ConsumerInfoErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{ConsumerCreateStrictError, ConsumerCreateStrictErrorKind};
use async_nats::{ConnectError, ConnectErrorKind};
use semel_core::{Error, Kind};

/// What passes by itself.
pub(crate) fn away(what: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unavailable, format!("{what}: {cause}"))
}

/// A connection that was not made.
pub(crate) fn connect(error: &ConnectError) -> Error {
    let kind = match error.kind() {
        ConnectErrorKind::AuthorizationViolation
        | ConnectErrorKind::Authentication
        | ConnectErrorKind::ServerParse => Kind::Invalid,
        ConnectErrorKind::Dns
        | ConnectErrorKind::TimedOut
        | ConnectErrorKind::Tls
        | ConnectErrorKind::Io
        | ConnectErrorKind::MaxReconnects => Kind::Unavailable,
    };
    Error::new(kind, format!("NATS cannot be reached: {error}"))
}

/// An answer of JetStream that is an error.
fn jetstream(what: &str, error: &async_nats::jetstream::Error) -> Error {
    let kind = match error.code() {
        // With 5xx the server speaks of itself (no leader, offline, short of resources), with 429 of its queue, otherwise of what was asked.
        429 | 500.. => Kind::Unavailable,
        _ => Kind::Invalid,
    };
    Error::new(kind, format!("{what}: {error}"))
}

/// Why a stream is not found.
pub(crate) fn stream(name: &str, kind: &GetStreamErrorKind) -> Error {
    let what = format!("the stream {name:?} cannot be read");
    match kind {
        GetStreamErrorKind::JetStream(error)
            if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
        {
            Error::invalid(format!("the stream {name:?} does not exist at the server"))
        }
        GetStreamErrorKind::JetStream(error) => jetstream(&what, error),
        GetStreamErrorKind::EmptyName | GetStreamErrorKind::InvalidStreamName => {
            Error::invalid(format!("{name:?} is no name of a stream"))
        }
        GetStreamErrorKind::Request => away(&what, "the server did not answer"),
    }
}

/// Why a consumer's description is not found.
pub(crate) fn consumer_info(name: &str, kind: &ConsumerInfoErrorKind) -> Error {
    let what = format!("the consumer {name:?} cannot be read");
    match kind {
        ConsumerInfoErrorKind::NotFound | ConsumerInfoErrorKind::StreamNotFound => Error::invalid(
            format!("the consumer {name:?} does not exist at the server"),
        ),
        ConsumerInfoErrorKind::InvalidName => {
            Error::invalid(format!("{name:?} is no name of a consumer"))
        }
        ConsumerInfoErrorKind::JetStream(error) => jetstream(&what, error),
        ConsumerInfoErrorKind::Offline
        | ConsumerInfoErrorKind::Request
        | ConsumerInfoErrorKind::TimedOut
        | ConsumerInfoErrorKind::NoResponders => away(&what, kind),
    }
}

/// Why a consumer was not made.
pub(crate) fn create(name: &str, error: &ConsumerCreateStrictError) -> Error {
    let what = format!("the consumer {name:?} cannot be made");
    match error.kind() {
        ConsumerCreateStrictErrorKind::JetStream(error) => jetstream(&what, &error),
        ConsumerCreateStrictErrorKind::AlreadyExists => {
            away(&what, "another process has made one at the same moment")
        }
        _ => away(&what, error),
    }
}
