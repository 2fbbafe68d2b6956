//! What the crash tests share: processes of this very program that are killed with SIGKILL, at named points and at
//! random moments, until enough have died; then a findings.
//!
//! A test says what its workers do, who asks them for what, and what must hold in the end ([`Plot`]); this starts the
//! workers, listens, kills, counts and reports.

mod child;
mod lives;
mod opening;
mod options;
mod point;
mod report;
mod scene;

pub(crate) use child::say;
pub(crate) use lives::{Kills, Life, Lives, PATIENCE, Plot};
pub(crate) use opening::opened;
pub use opening::{Open, Opening};
pub use options::Options;
pub(crate) use point::{Point, Stops, points};
pub(crate) use report::{Findings, Proof, main};
pub(crate) use scene::{Scene, lines, runtime};
