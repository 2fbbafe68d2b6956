//! Messages as JSON: lists, details, gaps, counts, what operators did.
//!
//! Payloads, header values and the results of steps are there only if they were asked for.

mod counts;
mod detail;
mod entry;
mod failures;
mod operate;

pub use counts::{AllCounts, Counts, Gap, Gaps, Missing, Pause};
pub use detail::{Arrived, Attempt, Detail, Edit, Step, Transition};
pub use entry::{Entry, Page};
pub use failures::{Failures, Group, Member};
pub use operate::{EditReport, PauseReport, Report};
