//! What is published in one transaction with a commit.

use std::sync::Arc;

use bytes::Bytes;
use semel_inbox::source::HeaderField;

use super::state::At;

/// A message that is published if, and only if, the offset of the delivery that caused it is committed.
#[derive(Clone)]
pub(crate) struct Publication {
    pub(crate) topic: Arc<str>,
    /// Without one the key decides, as Java's producers do.
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Bytes>,
    pub(crate) headers: Vec<HeaderField>,
    pub(crate) payload: Option<Bytes>,
}

/// A publication and the partition whose delivery caused it.
pub(super) struct Queued {
    pub(super) at: At,
    /// Which assignment of it: of an earlier one nothing is published.
    pub(super) epoch: u64,
    pub(super) publication: Publication,
}
