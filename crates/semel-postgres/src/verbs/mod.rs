//! The protocol's verbs: a batch of the usual is one statement; the unusual is decided by the protocol under the rows' locks.

pub(crate) mod claims;
pub(crate) mod decisions;
