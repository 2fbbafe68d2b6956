//! What people see. Nothing here writes or locks.

mod detail;
mod list;
mod overview;
