//! The engine: claims work, runs handlers, finishes, and keeps leases alive meanwhile.
//!
//! ```text
//!   wake_up, next due, poll
//!          │
//!          ▼            queue of claimed work             at most `workers` at once
//!      claimer ─────────────────────────▶ starter ─────────────────────────▶ attempt ──▶ handler
//!          ▲                                 │ shutdown: returned unstarted     │
//!          │ room                            ▼                                  ▼
//!          └───────────────────────────── finisher ◀──────────── disposition ───────┘
//!                                            │ all that wait, in one call
//!   heartbeat: renews every claim in flight, extends what sources keep open
//! ```
//!
//! A claimer, a starter and a finisher for each consumer; one heartbeat, one housekeeper and one watchman for alerts for all of them.
//! What is in memory can be lost at any moment: a claim whose engine is gone is claimed again when its lease ends.

mod active;
mod attempt;
mod build;
mod claimer;
mod finals;
mod finisher;
mod flights;
mod heartbeat;
mod housekeeper;
mod load;
mod running;
mod settings;
mod starter;
mod stop;

pub(crate) use active::{ActiveConsumer, Shared};
pub use build::{Builder, Engine};
pub(crate) use finals::{Waiter, is_settled};
pub use running::Running;
pub use settings::Settings;
pub(crate) use stop::Stopping;
