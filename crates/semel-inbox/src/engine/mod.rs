//! The engine: claims work, runs handlers, finishes, and keeps leases alive meanwhile.
//!
//! ```text
//!   wake-up, next due, poll
//!          │
//!          ▼            queue of claimed work             at most `workers` at once
//!      claimer ─────────────────────────▶ starter ─────────────────────────▶ attempt ──▶ handler
//!        ▲   ▲                              │ returned unstarted on shutdown,   │
//!        │   │ room                         ▼ when they age, or the circuit opens ▼
//!        │   └──────────────────────────── finisher ◀──────────── disposition ───────┤
//!        │                                   │ all that wait, in one call           │ signal
//!        └── circuit: closed, open, half-open ◀──────────────────────────────────────┘
//!   heartbeat: renews every claim in flight, extends what sources keep open
//! ```
//!
//! A claimer, a starter, a finisher and a circuit for each consumer; one heartbeat, one housekeeper, one poller for waiters and one watchman for
//! alerts for all of them.
//! What is in memory can be lost at any moment: a claim whose engine is gone is claimed again when its lease ends.

mod active;
mod attempt;
mod backlog;
mod breaker;
mod build;
mod circuit;
mod claimer;
mod finals;
mod finisher;
mod flights;
mod heartbeat;
mod housekeeper;
mod load;
mod moment;
mod running;
mod settings;
mod solo;
mod starter;
mod stop;

pub(crate) use active::{ActiveConsumer, Shared};
pub use breaker::CircuitView;
pub use build::{Builder, Engine};
pub use circuit::CircuitState;
pub(crate) use finals::{Waiter, is_settled};
pub use running::Running;
pub use settings::Settings;
pub use solo::Solo;
pub(crate) use stop::Stopping;
