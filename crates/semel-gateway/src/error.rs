//! The one error type of the gateway: a kind, a retry verdict, a message and a cause.

use std::fmt;

/// Shorthand for results of the gateway.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The configuration breaks a stated rule.
    Invalid,
    /// A certificate or a key cannot be read or used.
    Tls,
    /// The address to listen on cannot be had.
    Listen,
    /// What is asked for cannot change while the gateway runs.
    Fixed,
    /// The listening socket failed.
    Io,
}

impl Kind {
    /// A stable lowercase name for logs, JSON and exit messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Tls => "tls",
            Self::Listen => "listen",
            Self::Fixed => "fixed",
            Self::Io => "io",
        }
    }

    /// Whether the same call may succeed later without anybody's help.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Listen | Self::Io => true,
            Self::Invalid | Self::Tls | Self::Fixed => false,
        }
    }
}

/// An error of the gateway.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says what was expected and what was found.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong, as far as a caller can act on it.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the same call may succeed later without anybody's help.
    pub const fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }
}

impl From<semel_listen::Error> for Error {
    fn from(error: semel_listen::Error) -> Self {
        let kind = match error.kind() {
            semel_listen::Kind::Tls => Kind::Tls,
            semel_listen::Kind::Listen => Kind::Listen,
            _ => Kind::Invalid,
        };
        // Its text names what caused it already.
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
