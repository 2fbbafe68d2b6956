//! What people see. Nothing here writes or locks.

mod detail;
mod lanes;
mod list;
mod overview;
