//! The one error type of a listener: a kind, a message and a cause.

use std::fmt;

/// Shorthand for results of a listener.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The settings break a stated rule.
    Invalid,
    /// A certificate or a key cannot be read or used.
    Tls,
    /// The address to listen on cannot be had.
    Listen,
}

impl Kind {
    /// Whether the same call may succeed later without a change of the settings.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Listen => true,
            Self::Invalid | Self::Tls => false,
        }
    }
}

/// An error of a listener.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn caused_by(
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

    /// Whether the same call may succeed later without a change of the settings.
    pub const fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
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
