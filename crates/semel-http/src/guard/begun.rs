//! When a request arrived, and the span that it belongs to.

use http::Extensions;
use semel_core::trace::SpanHandle;
use tokio::time::Instant;

use crate::trace;

/// The beginning of a request, for the code that reports how it ended.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    pub(super) at: Instant,
    pub(super) span: SpanHandle,
}

impl Begun {
    /// A request begins now; its span is among its extensions if a door traces it.
    pub(crate) fn now(extensions: &Extensions) -> Self {
        Self {
            at: Instant::now(),
            span: trace::of(extensions),
        }
    }
}
