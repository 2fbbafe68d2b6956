//! What duplicates tell an operator: how late they come, and how long outcomes must be remembered to catch them.
//!
//! Pure functions over counts. What is counted and where is in [`crate::metrics`]; how it looks as JSON is [`crate::view::Duplicates`].

mod advice;
mod ages;

pub(crate) use advice::is_near_end;
pub use advice::{Advice, Seen, Verdict};
pub use ages::BOUNDS_MS;
