//! The one error of this crate: where, which field, what was expected and what was found.

use std::fmt;

use crate::tree::{Path, SourcePosition};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The file, or a file that it names, cannot be read.
    Unreadable,
    /// The text is not YAML.
    Syntax,
    /// A key is not known, or a value is not what its key takes.
    Invalid,
    /// A stated limit was reached.
    Limit,
}

impl Kind {
    /// A stable lowercase name for logs, JSON and exit messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Syntax => "syntax",
            Self::Invalid => "invalid",
            Self::Limit => "limit",
        }
    }
}

/// A configuration that cannot be used.
///
/// It shows as `semel.yaml:7:13: gateway.routes[0].lease: expected a duration such as 30s, found "soon"`
/// and never holds the value of a secret or of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    file: String,
    place: Option<SourcePosition>,
    field: String,
    message: String,
}

impl Error {
    /// An error about the file as a whole.
    pub(crate) fn whole(kind: Kind, file: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            file: file.to_owned(),
            place: None,
            field: String::new(),
            message: message.into(),
        }
    }

    /// An error about one place in it.
    pub(crate) fn at(mut self, place: SourcePosition) -> Self {
        self.place = Some(place);
        self
    }

    /// An error about one field.
    pub(crate) fn of(mut self, path: &Path) -> Self {
        self.field = path.to_string();
        self
    }

    /// What is wrong, as far as a caller can act on it.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Never: the same file is as wrong the next time.
    pub const fn is_retryable(&self) -> bool {
        false
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Where it is written, if one place is to blame.
    pub const fn place(&self) -> Option<&SourcePosition> {
        self.place.as_ref()
    }

    /// The path of the field, such as `gateway.routes[0].lease`; empty for the file as a whole.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What was expected and what was found.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(SourcePosition::Variable(name)) => write!(f, "{name}: ")?,
            // Without a file there is nothing to point at.
            Some(SourcePosition::File { .. }) | None if self.file.is_empty() => {}
            Some(SourcePosition::File { line, column }) => {
                write!(f, "{}:{line}:{column}: ", self.file)?
            }
            None => write!(f, "{}: ", self.file)?,
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
