//! The one error type of the core: a kind, a retry verdict, a message and a cause.
//!
//! A store maps its driver's errors to a [`Kind`]; callers decide by the kind and
//! never read the text.

use std::fmt;

/// Shorthand for results of the core and of stores.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The input breaks a stated rule (a key that is too long, a bad template).
    Invalid,
    /// A stated limit was reached (a full queue, a batch that is too large).
    Limit,
    /// The store cannot answer now. Nothing runs.
    Unavailable,
    /// Another process holds the store's lock.
    Locked,
    /// The disk is full; nothing was lost, nothing was written.
    DiskFull,
    /// The store's data is damaged or not the store's at all.
    Damaged,
    /// The data was written by a newer version of Semel.
    NewerVersion,
    /// The store may be read but not written.
    ReadOnly,
    /// A newer owner has taken over what the caller believed to own. Nothing was written.
    Fenced,
    /// An invariant of Semel itself does not hold: a bug.
    Internal,
}

impl Kind {
    /// A stable lowercase name for logs, JSON and exit messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Limit => "limit",
            Self::Unavailable => "unavailable",
            Self::Locked => "locked",
            Self::DiskFull => "disk-full",
            Self::Damaged => "damaged",
            Self::NewerVersion => "newer-version",
            Self::ReadOnly => "read-only",
            Self::Fenced => "fenced",
            Self::Internal => "internal",
        }
    }

    /// Whether the same call may succeed later without anybody's help.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Limit | Self::Unavailable | Self::Locked | Self::DiskFull => true,
            Self::Invalid
            | Self::Damaged
            | Self::NewerVersion
            | Self::ReadOnly
            | Self::Fenced
            | Self::Internal => false,
        }
    }
}

/// An error of the core or of a store.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    is_about_an_item: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says what was expected and what was found.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            is_about_an_item: false,
            source: None,
        }
    }

    /// Input that breaks a stated rule.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Says that one item of a call is the reason: without it the others may succeed.
    #[must_use]
    pub const fn about_an_item(mut self) -> Self {
        self.is_about_an_item = true;
        self
    }

    /// Whether one item of a call is the reason, so that offering the items one by one lets the others succeed.
    pub const fn is_about_an_item(&self) -> bool {
        self.is_about_an_item
    }

    /// What went wrong, as far as a caller can act on it.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the same call may succeed later without anybody's help.
    pub const fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }

    /// A copy for every caller of a batch that failed as a whole; the cause stays as text.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self {
            is_about_an_item: self.is_about_an_item,
            ..Self::new(self.kind, self.to_string())
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caller_of_a_batch_learns_what_one_of_them_would() {
        let error = Error::invalid("too long").caused_by(fmt::Error);
        let error = error.about_an_item().duplicate();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(error.is_about_an_item() && error.source.is_none());
        assert!(error.to_string().starts_with("too long: "), "{error}");
        assert!(!Error::invalid("too long").is_about_an_item());
    }
}
