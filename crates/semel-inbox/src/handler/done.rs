//! How a handler ends well.

use bytes::Bytes;
use semel_core::Outcome;

/// The good end of an attempt.
#[derive(Debug, Clone)]
pub struct Done(pub(crate) How);

#[derive(Debug, Clone)]
pub(crate) enum How {
    /// The effect is applied, with this outcome.
    Completed(Outcome),
    /// There was nothing to do.
    Skipped,
    /// The handler has finished the message in its own transaction.
    InTransaction,
}

impl Done {
    /// The effect is applied and there is nothing to say about it.
    pub fn new() -> Self {
        Self::with_outcome(Outcome::succeeded(""))
    }

    /// The effect is applied, with an outcome that duplicates and people are shown.
    pub const fn with_outcome(outcome: Outcome) -> Self {
        Self(How::Completed(outcome))
    }

    /// The effect is applied, with a text or bytes that duplicates and people are shown.
    pub fn with_body(body: impl Into<Bytes>) -> Self {
        Self::with_outcome(Outcome::succeeded(body))
    }

    /// There was nothing to do: the message is passed over, and its record settled.
    pub const fn skipped() -> Self {
        Self(How::Skipped)
    }

    /// The handler has finished the message in its own transaction, which is committed; the engine does not finish it again.
    /// See [`super::Ctx::finish`].
    pub const fn in_transaction() -> Self {
        Self(How::InTransaction)
    }
}

impl Default for Done {
    fn default() -> Self {
        Self::new()
    }
}
