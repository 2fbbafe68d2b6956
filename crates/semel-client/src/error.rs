//! The one error type of the client: a kind, a retry advice, the key, and what the
//! last try met.
//!
//! An answer that settles the operation is never an error, whatever its status: a
//! kept `404` or `500` is the outcome, and the caller reads it from the response.

use std::fmt;

use http::StatusCode;

use crate::key::Key;
use crate::response::Response;

/// Shorthand for results of the client.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The input breaks a stated rule. Nothing was sent.
    Invalid,
    /// The key belongs to another request. Nothing ran for this one: either the caller
    /// mixed up its keys, or it changed the request between two tries.
    KeyReused,
    /// The server cannot tell whether the effect happened. Only a person or the
    /// provider can decide; no number of tries will.
    OutcomeUnknown,
    /// The tries or the time ran out. The effect may have happened or not: send the
    /// same request with the same key again to find out.
    GaveUp,
    /// The operation was answered, but with a body over the stated limit. The same
    /// key with a higher limit reads the answer.
    Limit,
}

impl Kind {
    /// A stable lowercase name for logs, JSON and exit messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::KeyReused => "key-reused",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::GaveUp => "gave-up",
            Self::Limit => "limit",
        }
    }

    /// Whether the same request with the same key may succeed later without anybody's help.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::GaveUp => true,
            Self::Invalid | Self::KeyReused | Self::OutcomeUnknown | Self::Limit => false,
        }
    }
}

/// What the last try met.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// No whole answer came in the time of one try.
    Timeout,
    /// The connection could not be made, or it was lost before the whole answer came.
    Connection(reqwest::Error),
    /// The server answered, and the answer settles nothing.
    Response(Response),
    /// The server answered with a body over the limit; the body was not kept.
    TooLarge {
        /// The status of the answer.
        status: StatusCode,
        /// The limit that its body passed.
        bytes_max: usize,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("no answer in the time of one try"),
            Self::Connection(error) => f.write_str(&chain(error)),
            Self::Response(response) => write!(f, "answered {}", response.status()),
            Self::TooLarge { status, bytes_max } => {
                write!(f, "answered {status} with a body over {bytes_max} bytes")
            }
        }
    }
}

/// An error with all its causes: the transport hides its reason three deep.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

/// An error of the client.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    sent: Option<Box<Sent>>,
}

/// How an operation stood after its last try.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) key: Key,
    pub(crate) tries: u32,
    pub(crate) cause: Cause,
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            message: message.into(),
            sent: None,
        }
    }

    pub(crate) fn key_reused(sent: Sent) -> Self {
        let message = "expected the request that the key was first sent with";
        Self::after(Kind::KeyReused, message, sent)
    }

    pub(crate) fn outcome_unknown(sent: Sent) -> Self {
        let message = "the server cannot tell whether the effect happened";
        Self::after(Kind::OutcomeUnknown, message, sent)
    }

    pub(crate) fn gave_up(sent: Sent) -> Self {
        let message = match sent.tries {
            1 => "gave up after 1 try".to_owned(),
            many => format!("gave up after {many} tries"),
        };
        Self::after(Kind::GaveUp, &message, sent)
    }

    pub(crate) fn limit(sent: Sent) -> Self {
        Self::after(Kind::Limit, "the answer is too large to be read", sent)
    }

    fn after(kind: Kind, message: &str, sent: Sent) -> Self {
        Self {
            kind,
            message: format!("{message}, key {}: {}", sent.key, sent.cause),
            sent: Some(Box::new(sent)),
        }
    }

    /// What went wrong, as far as a caller can act on it.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the same request with the same key may succeed later without anybody's help.
    pub const fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }

    /// The key that was sent; nothing if nothing was sent.
    pub fn key(&self) -> Option<&Key> {
        self.sent.as_ref().map(|sent| &sent.key)
    }

    /// How many tries were made.
    pub fn tries(&self) -> u32 {
        self.sent.as_ref().map_or(0, |sent| sent.tries)
    }

    /// What the last try met; nothing if nothing was sent.
    pub fn cause(&self) -> Option<&Cause> {
        self.sent.as_ref().map(|sent| &sent.cause)
    }

    /// The answer to the last try, if there was one and it fitted.
    pub fn response(&self) -> Option<&Response> {
        match self.cause()? {
            Cause::Response(response) => Some(response),
            Cause::Timeout | Cause::Connection(_) | Cause::TooLarge { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.cause()? {
            Cause::Connection(error) => Some(error),
            Cause::Timeout | Cause::Response(_) | Cause::TooLarge { .. } => None,
        }
    }
}
