//! What a store is compared to: the least work that makes the same bytes durable.
//!
//! A baseline knows nothing of identities, leases or duplicates. It exists to show what the machine
//! can do, so it should be as fast as its medium honestly allows.

pub mod inbox;
pub mod postgres;
mod raw_log;
pub mod redis;

use std::fmt;
use std::pin::Pin;

use semel_core::Result;

use crate::sample::Sample;

pub use raw_log::RawLog;

/// What [`Baseline::pair`] returns: boxed, so that the trait stays object-safe.
pub type Done<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// Something that makes the bytes of a record durable in two steps.
pub trait Baseline: fmt::Debug + Send + Sync + 'static {
    /// What to call it in a report.
    fn name(&self) -> &str;

    /// Makes the claim durable and then the outcome; returns after the second.
    fn pair<'a>(&'a self, sample: &'a Sample) -> Done<'a>;
}
