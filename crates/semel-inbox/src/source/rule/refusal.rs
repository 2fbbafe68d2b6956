//! Why a delivery is no message.

use std::fmt;

/// Why a delivery is no message of its consumer. Its text never holds a payload.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It has no id, and the consumer requires one.
    IdMissing,
    /// It has no key or no sequence, and the consumer requires both.
    SequenceMissing,
    /// It breaks a stated rule.
    Invalid(String),
}

impl Refusal {
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdMissing => f.write_str("the message has no id, and its consumer requires one"),
            Self::SequenceMissing => {
                f.write_str("the message has no key or no sequence, and its consumer requires both")
            }
            Self::Invalid(text) => f.write_str(text),
        }
    }
}

impl From<semel_core::Error> for Refusal {
    fn from(error: semel_core::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}
