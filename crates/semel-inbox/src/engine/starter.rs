//! Starts attempts, at most so many at once, and gives back what it cannot start soon.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Disposition, Finish};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::active::ActiveConsumer;
use super::attempt::{self, Attempted, FinishedAttempt};
use super::circuit::{CircuitState, Pass};
use super::claimer::Queued;
use super::load::Load;
use super::stop::Stopping;

/// The most that is taken from the queue at once.
const TAKEN_MAX: usize = 256;

/// Starts what is queued until it is stopped; then lets attempts finish until the drain time is over.
pub(super) struct Starter {
    pub(super) active: Arc<ActiveConsumer>,
    pub(super) load: Arc<Load>,
    pub(super) queue: mpsc::UnboundedReceiver<Queued>,
    pub(super) finisher: mpsc::Sender<FinishedAttempt>,
    pub(super) stopping: Stopping,
}

impl Starter {
    pub(super) async fn run(mut self) {
        let mut attempts = JoinSet::new();
        let mut waiting = VecDeque::new();
        self.start_until_stopped(&mut waiting, &mut attempts).await;
        let until = Instant::now() + self.active.shared.drain();
        self.give_back_all(&mut waiting).await;
        let drained = async { while attempts.join_next().await.is_some() {} };
        if timeout_at(until, drained).await.is_err() {
            let (consumer, left) = (self.active.policy.name(), attempts.len());
            tracing::warn!(%consumer, left, "handlers did not finish in time and are left to their leases");
        }
        // Dropping the rest cancels it: what it has claimed is claimed again when the leases end.
    }

    async fn start_until_stopped(
        &mut self,
        waiting: &mut VecDeque<Queued>,
        attempts: &mut JoinSet<()>,
    ) {
        let mut circuit = self.active.breaker.changes();
        let (mut taken, mut is_closed) = (Vec::new(), false);
        while !is_closed {
            let ages = waiting.front().map(|oldest| self.too_old_at(oldest));
            tokio::select! {
                biased;
                () = self.stopping.stopped() => return,
                // An attempt that has ended leaves its place.
                Some(_) = attempts.join_next(), if !attempts.is_empty() => {}
                count = self.queue.recv_many(&mut taken, TAKEN_MAX) => {
                    is_closed = count == 0;
                    waiting.extend(taken.drain(..));
                }
                Ok(()) = circuit.changed(), if !waiting.is_empty() => {}
                () = sleep_until(ages.unwrap_or_else(Instant::now)), if ages.is_some() => {}
            }
            self.start_what_may(waiting, attempts).await;
        }
    }

    /// Starts as many as there are places for, as long as their claims are young and the circuit lets them.
    async fn start_what_may(&mut self, waiting: &mut VecDeque<Queued>, attempts: &mut JoinSet<()>) {
        let shared = self.active.shared.clone();
        while let Some(oldest) = waiting.front() {
            let (claim, clock) = (&oldest.job.claim, &*shared.clock);
            let is_old = self.too_old_at(oldest) <= Instant::now();
            if is_old || !shared.flights.may_begin(claim, clock) {
                self.give_back(waiting.pop_front()).await;
                continue;
            }
            if attempts.len() >= self.active.policy.workers {
                return;
            }
            match self.active.breaker.begin() {
                Some(pass) => {
                    if let Some(queued) = waiting.pop_front() {
                        attempts.spawn(self.work(queued, pass));
                    }
                }
                None if self.active.breaker.state() == CircuitState::Open => {
                    while let Some(queued) = waiting.pop_front() {
                        self.give_back(Some(queued)).await;
                    }
                }
                None => return,
            }
        }
    }

    /// When a claim that has not begun is given back, so that another process may run the message: after half its lease.
    fn too_old_at(&self, queued: &Queued) -> Instant {
        queued.asked.steady + self.active.policy.lease.get() / 2
    }

    /// Returns what was claimed and not begun, until the claimer has gone.
    async fn give_back_all(&mut self, waiting: &mut VecDeque<Queued>) {
        while let Some(queued) = waiting.pop_front() {
            self.give_back(Some(queued)).await;
        }
        while let Some(queued) = self.queue.recv().await {
            self.give_back(Some(queued)).await;
        }
    }

    async fn give_back(&self, queued: Option<Queued>) {
        let Some(Queued { job, .. }) = queued else {
            return;
        };
        self.load.given_back(job.message.payload().len());
        // A claimer that waits for the circuit has counted this claim among those that are to begin.
        self.active.breaker.given_back();
        let returned = FinishedAttempt {
            message: job.message,
            attempt: job.attempt,
            finish: Finish {
                claim: job.claim,
                took: Duration::ZERO,
                disposition: Disposition::Return,
            },
        };
        // A finisher that is gone leaves it to its lease.
        let _ = self.finisher.send(returned).await;
    }

    fn work(&self, queued: Queued, pass: Pass) -> impl Future<Output = ()> + Send + 'static {
        let begun = self.load.begun();
        let bytes = queued.job.message.payload().len();
        let (active, load) = (self.active.clone(), self.load.clone());
        let finisher = self.finisher.clone();
        async move {
            work(active, finisher, queued, pass).await;
            load.ended(begun, bytes);
        }
    }
}

async fn work(
    active: Arc<ActiveConsumer>,
    finisher: mpsc::Sender<FinishedAttempt>,
    queued: Queued,
    pass: Pass,
) {
    let claim = queued.job.claim.clone();
    active.count_own_replay(&queued.job);
    match attempt::run(&active, queued.job, queued.lost, pass).await {
        Attempted::Finish(ending) => {
            let _ = finisher.send(ending).await;
        }
        Attempted::Already(ending) => {
            let shared = &active.shared;
            shared.flights.end(&claim);
            shared.nudge.send_replace(());
            active.backlog.done();
            let state = ending.finish.disposition.state();
            shared.finals.tell(ending.message.identity(), state);
            shared.watch.finished(&ending.message, ending.end(false));
        }
        Attempted::Lost => active.shared.flights.end(&claim),
    }
}
