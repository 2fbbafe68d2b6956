//! The one error of this crate: a message for a person, and whose mistake it was.
//!
//! Nothing here is retried or matched on, so there are no finer kinds.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// Why a verb did not succeed.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line does not make sense; the usage text helps.
    Usage(String),
    /// A step, a check or a service failed.
    Failed(String),
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(message) | Self::Failed(message)) = self;
        f.write_str(message)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Explains an IO error by what was attempted on which path, for `map_err`.
    pub(crate) fn at<'a>(
        attempt: &'a str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |error| Self::Failed(format!("cannot {attempt} {}: {error}", path.display()))
    }

    /// Explains an error by what was attempted, for `map_err`.
    pub(crate) fn when<E: Display>(attempt: &str) -> impl FnOnce(E) -> Self + use<'_, E> {
        move |error| Self::Failed(format!("cannot {attempt}: {error}"))
    }
}
