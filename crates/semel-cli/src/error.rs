//! The one error of the command line: a line that says what is wrong, a hint, an exit code.

use crate::exit::Exit;

/// Shorthand for results of the command line.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Error {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Error {
    /// An error that says what was expected and what was found.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
        }
    }

    /// The operation was understood and not done.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, message)
    }

    /// Adds what the person can do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says first what was being done.
    #[must_use]
    pub(crate) fn when(mut self, doing: &str) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }

    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<semel_core::Error> for Error {
    fn from(error: semel_core::Error) -> Self {
        use semel_core::Kind;
        let said = Self::new(Exit::of(error.kind()), error.to_string());
        match error.kind() {
            Kind::Internal => said.hint("this is a bug of semel; please report it"),
            _ => said,
        }
    }
}
