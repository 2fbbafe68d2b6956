//! An engine at work, and its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use semel_core::{LeaseTerm, Scope};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::active::{ActiveConsumer, Shared};
use super::breaker::CircuitView;
use super::build::Engine;
use super::claimer::Claimer;
use super::load::Load;
use super::starter::Starter;
use super::stop::{Stop, Stopping};
use super::{finisher, heartbeat, housekeeper};
use crate::alerts;
use crate::receiver::Receiver;
use crate::source::{Feed, Open, Pump, SourceView, Sources};

/// How long the last answers of the store may take on shutdown, after handlers have drained.
const FLUSH: Duration = Duration::from_secs(5);

/// An engine at work. Dropping it stops all tasks where they are, as a crash would; [`Running::shutdown`] is the good end.
pub struct Running {
    shared: Arc<Shared>,
    receivers: HashMap<Scope, Receiver>,
    consumers: Vec<Arc<ActiveConsumer>>,
    stop: Stop,
    stopping: Stopping,
    /// Tells sources that nothing more will be dealt with here.
    drained: Stop,
    draining: Stopping,
    /// What brings messages in.
    pumps: JoinSet<()>,
    sources: Sources,
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
        let (drained, draining) = Stop::new();
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
            consumers: consumers.clone(),
            stop,
            stopping,
            drained,
            draining,
            pumps: JoinSet::new(),
            sources: Sources::default(),
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
        let (mut all, mut seen) = (Vec::new(), Vec::new());
        for feed in feeds {
            let receiver = self.receivers[&feed.consumer].clone();
            let mut consumers = self.consumers.iter();
            let active = consumers.find(|active| *active.policy.name() == feed.consumer);
            let active = active.expect("sources without their consumer were refused");
            let (stopping, draining) = (self.stopping.clone(), self.draining.clone());
            let pump = Pump::new(feed, receiver, active.clone(), stopping, draining);
            all.push(pump.open());
            seen.push(pump.seen());
            self.pumps.spawn(pump.run());
        }
        self.sources = Sources::new(seen);
        all
    }

    fn start_workers(&mut self, active: &Arc<ActiveConsumer>) {
        let load = Arc::new(Load::new(active.policy.workers));
        let (queue, queued) = mpsc::unbounded_channel();
        let (endings, ended) = mpsc::channel(finisher::WAITING_MAX);
        let stopping = self.stopping.clone();
        let claimer = Claimer {
            active: active.clone(),
            load: load.clone(),
            queue,
            stopping: stopping.clone(),
        };
        let starter = Starter {
            active: active.clone(),
            load,
            queue: queued,
            finisher: endings,
            stopping,
        };
        self.workers.spawn(claimer.run());
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
        let (shared, stopping) = (&self.shared, &self.stopping);
        let beat = heartbeat::run(shared.clone(), leases, open);
        let housekeeper = housekeeper::run(shared.clone(), consumers.clone(), stopping.clone());
        let alerts = alerts::run(shared.clone(), consumers, stopping.clone());
        let looking = shared.clone();
        self.background.spawn(async move {
            looking.finals.look_for_ever(&*looking.inbox).await;
        });
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

    /// How the circuits of all consumers and targets stand.
    pub fn circuits(&self) -> Vec<CircuitView> {
        let all = self.consumers.iter();
        all.map(|active| active.breaker.view(&*self.shared.clock))
            .collect()
    }

    /// How the sources of all consumers stand.
    pub fn sources(&self) -> Vec<SourceView> {
        self.sources.views()
    }

    /// The same for a part of the process that looks at them again and again.
    pub fn watch_sources(&self) -> Sources {
        self.sources.clone()
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Ends well: nothing more is claimed, what was not begun is returned and may run elsewhere at once, handlers that run may finish
    /// for the drain time, and the rest is left to its leases. Deliveries whose messages are dealt with in that time are acknowledged, the others
    /// given back.
    pub async fn shutdown(self) {
        self.end().await;
    }

    /// The same for an engine whose place another one has taken in this process: the process does not end, so handlers may take as
    /// long as their deadlines allow.
    pub async fn hand_over(self) {
        let receivers = self.receivers.values();
        let slowest = receivers.map(|receiver| receiver.consumer().deadline).max();
        let slowest = slowest.unwrap_or_default().as_millis();
        let slowest = u64::try_from(slowest).unwrap_or(u64::MAX);
        self.shared.replaced.store(slowest, Ordering::Relaxed);
        self.end().await;
    }

    async fn end(mut self) {
        self.stop.stop();
        let drain = self.shared.drain();
        let workers = timeout(drain + FLUSH, join(&mut self.workers)).await;
        self.drained.stop();
        let pumps = timeout(FLUSH, join(&mut self.pumps)).await;
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
