//! Benchmarks of Semel as ratios: ours and a raw baseline take turns in one run.
//!
//! Machines are shared and noisy, so an absolute figure proves nothing; the ratio of two figures that
//! were taken seconds apart does. Read it in this order: `sample` is the record that everything is
//! measured with; [`baseline`] is what a store is compared to; `load` lets many callers work for
//! a while and counts; [`store`] says what to measure, `rounds` takes the turns on each `subject`; [`report`] and [`goal`] say what came of it.
//! [`inbox`] does the same for messages that wait, [`gateway`] for a process that is asked over HTTP, [`sources`] for what a broker delivers. [`sweep`] looks whether deleting keeps up with claiming.
//!
//! This crate names no store, no source and no gateway: the caller says how to open or start one. It writes nothing to standard output,
//! and [`progress`] shows only on a terminal.

pub mod baseline;
pub mod gateway;
pub mod goal;
pub mod inbox;
mod latency;
mod load;
mod machine;
mod prefill;
pub mod progress;
pub mod report;
mod rounds;
mod sample;
pub mod sources;
pub mod store;
mod subject;
pub mod sweep;
mod timing;

pub use baseline::Baseline;
pub use gateway::GatewayOptions;
pub use inbox::InboxOptions;
pub use report::Report;
pub use sample::Sample;
pub use sources::SourceOptions;
pub use store::StoreOptions;
pub use sweep::SweepOptions;
