//! What one attempt says about the other side as a whole, for the circuit of its consumer.

use std::time::Duration;

/// What an attempt says about the handler or provider, beside what it says about its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Signal {
    /// It did what it was asked to do.
    Success,
    /// It answered, so it is there.
    Answered,
    /// It is not there: no connection, no answer in time, or a proxy that says so.
    Away,
    /// It asks to be left alone for so long.
    Busy(Duration),
    /// It does not accept our credentials.
    Denied,
    /// Nothing can be said.
    #[default]
    Nothing,
}
