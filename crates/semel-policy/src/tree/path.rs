//! Which field, and where it is written.

use std::fmt;

/// Where something is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourcePosition {
    /// In the file, both counted from 1.
    File {
        /// The line.
        line: u64,
        /// The column, in characters.
        column: u64,
    },
    /// In this environment variable.
    Variable(String),
}

/// The way from the root to a field: `gateway.routes[0].lease`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Path(Vec<Step>);

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

impl Path {
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// One step further.
    pub(crate) fn to(&self, step: impl Into<Step>) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Self(steps)
    }

    /// All steps of another path further.
    pub(crate) fn join(&self, further: &Self) -> Self {
        let steps = self.0.iter().chain(&further.0);
        Self(steps.cloned().collect())
    }

    /// The same, seen from one step further up.
    pub(crate) fn below(&mut self, step: impl Into<Step>) {
        self.0.insert(0, step.into());
    }
}

impl From<&str> for Step {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl<S: Into<Step>> FromIterator<S> for Path {
    fn from_iter<I: IntoIterator<Item = S>>(steps: I) -> Self {
        Self(steps.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Name(name) if at == 0 => write!(f, "{name}")?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
