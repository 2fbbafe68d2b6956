//! An engine at work and the door in front of it; both go on while the engine is replaced by one with other consumers.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Router;
use semel_admin::Current;
use semel_core::Scope;
use semel_inbox::{Engine, Observer, Running, Webhook};
use semel_listen::Listener;
use semel_policy::File;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

use super::door::{self, Door};
use super::expected::Expected;
use super::observer::EngineObserver;
use super::processed::{self, Ready, Started};
use super::{Named, engine, expose, parts, paused};
use crate::error::{Error, Result};
use crate::serving::{Process, ended, listening};

/// What runs of the inbox.
#[derive(Default)]
pub(in crate::serving) struct Messages {
    /// Where posted messages go; replaced as a whole, so that a consumer always has a receiver.
    router: Current<Router>,
    door: Option<JoinHandle<()>>,
    running: Option<Running>,
    /// The consumers without an inbox.
    logs: Option<Started>,
    /// The engine that was replaced last, until its handlers have finished.
    draining: Option<JoinHandle<()>>,
    observer: Option<EngineObserver>,
    /// What the engine judges.
    expected: Expected,
    /// The consumers that the file pauses.
    paused: HashSet<Scope>,
    /// Whether one of the consumers reads standard input.
    reads_stdin: bool,
}

/// An engine that can start, and what its door needs.
pub(in crate::serving) struct Prepared {
    named: Named,
    engine: Option<Engine>,
    logs: Ready,
    observer: EngineObserver,
    hooks: Vec<Webhook>,
    listener: Option<Listener>,
    paused: HashSet<Scope>,
}

impl Messages {
    /// Whether an engine runs, or a consumer without an inbox.
    pub(in crate::serving) const fn is_running(&self) -> bool {
        self.running.is_some() || self.logs.is_some()
    }

    /// Makes an engine of what the file names, and takes the address of its door if there is none yet; `None` if it names nothing. What
    /// the store must know, views and pauses, is written to it; what runs is not touched.
    pub(in crate::serving) async fn prepare(
        &self,
        process: &Process,
        file: &File,
    ) -> Result<Option<Prepared>> {
        let Some(named) = Named::of(file)? else {
            return Ok(None);
        };
        if self.is_running() && (self.reads_stdin || parts::reads_stdin(&named.consumers)) {
            return Err(Error::refused(
                "a consumer reads standard input, which cannot be handed from one engine to another: restart to take the file over",
            ));
        }
        let observer = EngineObserver::new(process.watchers.metrics());
        let reports: Arc<dyn Observer> = Arc::new(observer.clone());
        let logs = processed::ready(process, file, &named, &reports)?;
        let engine = match named.needs_engine() {
            true => Some(engine(process, file, &named, process.inbox()?, reports)?),
            false => None,
        };
        let hooks = parts::webhooks(&named.consumers, file.inbox.timeouts.body.0)?;
        let hooks = hooks
            .into_iter()
            .map(|hook| hook.memory(process.memory.clone()))
            .map(|hook| hook.quotas(process.quotas.clone()));
        let hooks: Vec<_> = hooks.collect();
        let listener = match hooks.is_empty() || self.door.is_some() {
            true => None,
            false => Some(door::bind(&file.inbox)?),
        };
        let mut paused = HashSet::new();
        if engine.is_some() {
            let inbox = process.inbox()?;
            expose(&*inbox, &named.consumers).await?;
            paused = paused::apply(&*inbox, &named.consumers, &self.paused).await?;
        }
        Ok(Some(Prepared {
            named,
            engine,
            logs,
            observer,
            hooks,
            listener,
            paused,
        }))
    }

    /// Starts what was prepared in the place of what runs. The engine before it finishes what it has begun and returns the rest; until then
    /// both work on the same inbox, as two processes would.
    pub(in crate::serving) fn take(
        &mut self,
        process: &Process,
        file: &File,
        prepared: Option<Prepared>,
        ending: Receiver<bool>,
    ) -> Result<()> {
        let metrics = process.watchers.metrics();
        if let Some(observer) = self.observer.take() {
            observer.replaced();
        }
        let engine = prepared.as_ref().and_then(|next| next.engine.as_ref());
        let next = engine.map(Expected::of).unwrap_or_default();
        self.expected.replace(&metrics, next);
        let Some(prepared) = prepared else {
            metrics.watch_sources(None);
            process.health.watch_sources(None);
            self.router.set(door::closed());
            self.replace(None);
            self.replace_logs(Vec::new());
            self.paused.clear();
            return Ok(());
        };
        let consumers = &prepared.named.consumers;
        self.reads_stdin = parts::reads_stdin(consumers);
        self.paused = prepared.paused;
        self.observer = Some(prepared.observer);
        self.replace_logs(prepared.logs);
        match prepared.engine.map(Engine::start) {
            Some(running) => {
                let sources = running.watch_sources();
                metrics.watch_sources(Some(Box::new(move || sources.views())));
                let sources = running.watch_sources();
                process
                    .health
                    .watch_sources(Some(Box::new(move || sources.views())));
                let router = running.router(prepared.hooks)?;
                self.router.set(door::routed(router));
                self.replace(Some(running));
            }
            None => {
                metrics.watch_sources(None);
                process.health.watch_sources(None);
                self.router.set(door::closed());
                self.replace(None);
            }
        }
        process.health.part("inbox").ready();
        if let Some(listener) = prepared.listener {
            self.open(process, file, listener, ending);
        }
        tracing::info!(
            consumers = prepared.named.consumers.len() + prepared.named.logs.len(),
            targets = prepared.named.targets.len(),
            "the inbox works"
        );
        Ok(())
    }

    fn replace(&mut self, running: Option<Running>) {
        let old = std::mem::replace(&mut self.running, running);
        self.draining = old.map(|old| {
            tokio::spawn(async move {
                old.hand_over().await;
                tracing::info!("the engine that was replaced has stopped");
            })
        });
    }

    fn replace_logs(&mut self, ready: Ready) {
        let before = self.logs.take();
        if before.is_some() || !ready.is_empty() {
            self.logs = Some(processed::start(before, ready));
        }
    }

    fn open(&mut self, process: &Process, file: &File, listener: Listener, ending: Receiver<bool>) {
        tracing::info!(listen = %listener.address(), "the inbox listens");
        let door = Door::new(listener, self.router.clone(), &file.inbox);
        listening::show(
            "inbox",
            &door.handle(),
            &process.watchers.metrics(),
            &process.health,
        );
        let part = process.health.part("inbox");
        self.door = Some(tokio::spawn(door.serve(async move {
            ended(ending).await;
            part.not_ready("draining");
        })));
    }

    /// Waits until the engine that was replaced last has finished what it had begun.
    pub(in crate::serving) async fn drained(&mut self) {
        if let Some(draining) = &mut self.draining {
            join(draining).await;
        }
        self.draining = None;
    }

    /// Ends all. The door closes first, so that who waits for an effect may still get it; then handlers that run may finish, and what was
    /// not begun is returned.
    pub(in crate::serving) async fn end(mut self, process: &Process) {
        if self.running.is_some() {
            process.health.part("inbox").not_ready("draining");
        }
        if let Some(door) = &mut self.door {
            join(door).await;
        }
        let logs = processed::end(self.logs.take());
        if let Some(running) = self.running.take() {
            // Logged once the engine has heard of it: from then on nothing more is begun.
            let told = async { tracing::info!("the inbox lets its handlers finish") };
            tokio::join!(running.shutdown(), told, logs);
        } else {
            logs.await;
        }
        self.drained().await;
    }
}

async fn join(task: &mut JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "a task of the inbox ended badly");
    }
}
