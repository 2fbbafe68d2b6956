//! The sweep of a process that uses transactions only: no store of that process sweeps what it leaves.

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;

use crate::config::Config;
use crate::engine::Engine;
use crate::sweep;

/// A sweep in the background that begins with the first message, and ends when this goes.
#[derive(Debug)]
pub(super) struct Housekeeping {
    config: Config,
    /// Keeps the sweep going; `None` if it could not be begun.
    engine: OnceLock<Option<Arc<Engine>>>,
}

impl Housekeeping {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            // One connection is all that a sweep uses.
            config: config.clone().connections(1),
            engine: OnceLock::new(),
        }
    }

    /// Begins unless it has begun. It needs the runtime of a caller, which [`Deliveries::new`](super::Deliveries::new) may not have.
    pub(super) fn start(&self) {
        self.engine.get_or_init(|| self.begin());
    }

    fn begin(&self) -> Option<Arc<Engine>> {
        let interval = self.config.sweep_every?;
        let runtime = Handle::try_current().ok()?;
        // A configuration that leads nowhere is reported to the caller that opens a transaction with it.
        let engine = Arc::new(Engine::new(&self.config).ok()?);
        let keep = self.config.history_keep;
        drop(runtime.spawn(sweep::run(engine.weak(), interval, keep)));
        Some(engine)
    }
}
