//! What an inbox is compared to: one table, plain statements, no history, no lanes, no fences.
//!
//! What a careful service writes by hand and nothing more; whatever the engine below can do for it, it gets.

pub mod postgres;
pub mod sqlite;

use std::fmt;
use std::pin::Pin;

use semel_core::Result;

use crate::baseline::Done;
use crate::inbox::Letter;

/// The one consumer that has messages.
pub(crate) const CONSUMER: &str = "mailer@1";

/// What [`Queue::deal`] returns: boxed, so that the trait stays object-safe.
pub type Dealt<'a> = Pin<Box<dyn Future<Output = Result<usize>> + Send + 'a>>;

/// Messages that wait to be dealt with: a plain table, or an inbox.
pub trait Queue: fmt::Debug + Send + Sync + 'static {
    /// What to call it in a report.
    fn name(&self) -> &str;

    /// Stores messages: one durable write for all.
    fn receive(&self, letters: Vec<Letter>) -> Done<'_>;

    /// Claims up to `max` messages, durably, with their payloads, and completes them, durably. How many there were.
    fn deal(&self, max: usize) -> Dealt<'_>;
}
