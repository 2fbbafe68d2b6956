//! One break of a rule, or a remark that one is near.

use std::fmt::{self, Display};

/// Something a rule has to say about a line.
#[derive(Debug)]
pub(super) struct Finding {
    path: String,
    line: usize,
    message: String,
    is_note: bool,
}

impl Finding {
    /// A break of a rule, which fails the check.
    pub(super) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
            is_note: false,
        }
    }

    /// A remark, which does not.
    pub(super) fn note(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            is_note: true,
            ..Self::new(path, line, message)
        }
    }

    pub(super) fn is_note(&self) -> bool {
        self.is_note
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.is_note { "note: " } else { "" };
        write!(f, "{}:{}: {note}{}", self.path, self.line, self.message)
    }
}

/// For tests: the findings as they are printed, without the path.
#[cfg(test)]
pub(super) fn shown(findings: &[Finding]) -> Vec<String> {
    let text = findings.iter().map(ToString::to_string);
    text.map(|line| line.split_once(':').map(|(_, rest)| rest.to_owned()))
        .map(Option::unwrap_or_default)
        .collect()
}
