//! What people see of an inbox. Nothing here writes, but for the view that people ask for.

mod lanes;
mod messages;
mod overview;
mod processed;

pub(super) use lanes::waiting_lanes;
pub(super) use messages::{list, message, scope, state};
pub(super) use overview::{counts, gaps};
pub(super) use processed::check;
