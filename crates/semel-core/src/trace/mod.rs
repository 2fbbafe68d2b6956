//! Traces: which request or message caused what, as W3C Trace Context has it.
//!
//! - [`TraceContext`] is what travels in `traceparent` and `tracestate`.
//! - [`Tracer`] begins spans and decides which traces are sampled; a [`Span`] ends when it is dropped, and a
//!   [`SpanHandle`] adds to it from wherever it was handed to.
//! - [`FinishedSpan`] is what a [`SpanSink`] is given. What becomes of it is the sink's business: nothing is sent here.
//!
//! A tracer that is off is an empty option: beginning a span, adding to it and ending it are then one branch each, and what
//! would be written is not computed.

mod context;
mod span;
mod tracer;

pub use context::{TRACEPARENT, TRACESTATE, TraceContext};
pub use span::{FinishedSpan, Kind, Span, SpanHandle, Value};
pub use tracer::{Origin, Sampling, SpanSink, Tracer};
