//! An engine at work, and its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{LeaseTerm, Scope};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::active::{ActiveConsumer, Shared};
use super::build::Engine;
use super::load::Load;
use super::starter::Starter;
use super::stop::{Stop, Stopping};
use super::{claimer, finisher, heartbeat, housekeeper};
use crate::alerts;
use crate::receiver::Receiver;
use crate::source::{Feed, Open, Pump};

/// How long the last answers of the store may take on shutdown, after handlers have drained.
const FLUSH: Duration = Duration::from_secs(5);

/// An engine at work. Dropping it stops all tasks where they are, as a crash would; [`Running::shutdown`] is the good end.
pub struct Running {
    shared: Arc<Shared>,
    receivers: HashMap<Scope, Receiver>,
    stop: Stop,
    stopping: Stopping,
    /// What brings messages in.
    pumps: JoinSet<()>,
    /// Claimers, starters and finishers.
    workers: JoinSet<()>,
    /// Heartbeat, housekeeper and watchman, which end last.
    background: JoinSet<()>,
}

impl Running {
    pub(super) fn start(engine: Engine) -> Self {
        let Engine {
            shared,
            consumers,
            feeds,
        } = engine;
        let (stop, stopping) = Stop::new();
        let receivers = consumers.iter();
        let receivers = receivers.map(|active| {
            (
                active.policy.name().clone(),
                Receiver::start(active.clone()),
            )
        });
        let mut running = Self {
            receivers: receivers.collect(),
            shared,
            stop,
            stopping,
            pumps: JoinSet::new(),
            workers: JoinSet::new(),
            background: JoinSet::new(),
        };
        let open = running.start_pumps(feeds);
        for active in &consumers {
            running.start_workers(active);
        }
        running.start_background(consumers, open);
        running
    }

    fn start_pumps(&mut self, feeds: Vec<Feed>) -> Vec<Arc<Open>> {
        let mut all = Vec::new();
        for feed in feeds {
            let receiver = self.receivers[&feed.consumer].clone();
            let pump = Pump::new(feed, receiver, self.shared.clone(), self.stopping.clone());
            all.push(pump.open());
            self.pumps.spawn(pump.run());
        }
        all
    }

    fn start_workers(&mut self, active: &Arc<ActiveConsumer>) {
        let load = Arc::new(Load::new(active.policy.workers));
        let (queue, queued) = mpsc::unbounded_channel();
        let (endings, ended) = mpsc::channel(finisher::WAITING_MAX);
        let stopping = self.stopping.clone();
        let claimer = claimer::run(active.clone(), load.clone(), queue, stopping.clone());
        let starter = Starter {
            active: active.clone(),
            load,
            queue: queued,
            finisher: endings,
            stopping,
        };
        self.workers.spawn(claimer);
        self.workers.spawn(starter.run());
        self.workers.spawn(finisher::run(active.clone(), ended));
    }

    fn start_background(&mut self, consumers: Vec<Arc<ActiveConsumer>>, open: Vec<Arc<Open>>) {
        let mut leases: Vec<LeaseTerm> = Vec::new();
        for active in &consumers {
            if !leases.contains(&active.policy.lease) {
                leases.push(active.policy.lease);
            }
        }
        let by_sequence = consumers.iter();
        let by_sequence =
            by_sequence.filter(|active| housekeeper::is_needed(active.policy.plan.order));
        let by_sequence = by_sequence.cloned().collect();
        let (shared, stopping) = (&self.shared, &self.stopping);
        let beat = heartbeat::run(shared.clone(), leases, open);
        let housekeeper = housekeeper::run(shared.clone(), by_sequence, stopping.clone());
        let alerts = alerts::run(shared.clone(), consumers, stopping.clone());
        self.background.spawn(beat);
        self.background.spawn(housekeeper);
        self.background.spawn(alerts);
    }

    /// The way in for messages of a consumer; nothing if the engine does not have it. It works as long as somebody holds it, also after the
    /// engine has stopped.
    pub fn receiver(&self, consumer: &Scope) -> Option<Receiver> {
        self.receivers.get(consumer).cloned()
    }

    /// Waits until all sources have come to their end; those that have none never do. Everything they delivered is stored then.
    pub async fn sources_ended(&mut self) {
        join(&mut self.pumps).await;
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Ends well: nothing more is claimed, what was not begun is returned and may run elsewhere at once, handlers that run may finish
    /// for the drain time, and the rest is left to its leases.
    pub async fn shutdown(mut self) {
        self.stop.stop();
        let drain = self.shared.settings.drain;
        let pumps = timeout(drain, join(&mut self.pumps));
        let workers = timeout(drain + FLUSH, join(&mut self.workers));
        let (pumps, workers) = tokio::join!(pumps, workers);
        if pumps.is_err() || workers.is_err() {
            tracing::warn!(
                "the engine did not stop in time; what it had claimed is left to its leases"
            );
        }
        self.background.shutdown().await;
    }
}

async fn join(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a task of the engine ended badly");
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("worker", &self.shared.worker)
            .field("consumers", &self.receivers.keys())
            .finish_non_exhaustive()
    }
}
