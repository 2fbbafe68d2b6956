//! Starts attempts, at most so many at once, and returns on shutdown what it has not started.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Disposition, Finish};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::active::ActiveConsumer;
use super::attempt::{self, Attempted, FinishedAttempt};
use super::claimer::Queued;
use super::load::Load;
use super::stop::Stopping;

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
        let places = Arc::new(Semaphore::new(self.active.policy.workers));
        let mut attempts = JoinSet::new();
        while let Some((queued, place)) = self.next(&places, &mut attempts).await {
            let work = work(
                self.active.clone(),
                self.load.clone(),
                self.finisher.clone(),
                queued,
            );
            attempts.spawn(async move {
                work.await;
                drop::<OwnedSemaphorePermit>(place);
            });
        }
        let until = Instant::now() + self.active.shared.settings.drain;
        self.give_back().await;
        let drained = async { while attempts.join_next().await.is_some() {} };
        if timeout_at(until, drained).await.is_err() {
            let (consumer, left) = (self.active.policy.name(), attempts.len());
            tracing::warn!(%consumer, left, "handlers did not finish in time and are left to their leases");
        }
        // Dropping the rest cancels it: what it has claimed is claimed again when the leases end.
    }

    /// The next work and the place where it may run; nothing once it is time to stop.
    async fn next(
        &mut self,
        places: &Arc<Semaphore>,
        attempts: &mut JoinSet<()>,
    ) -> Option<(Queued, OwnedSemaphorePermit)> {
        loop {
            tokio::select! {
                biased;
                () = self.stopping.stopped() => return None,
                // Attempts that have ended are let go of.
                Some(_) = attempts.join_next(), if !attempts.is_empty() => {}
                place = places.clone().acquire_owned(), if !self.queue.is_empty() => {
                    let place = place.expect("the semaphore is never closed");
                    if let Ok(queued) = self.queue.try_recv() {
                        return Some((queued, place));
                    }
                }
                queued = self.queue.recv(), if self.queue.is_empty() => {
                    let queued = queued?;
                    let place = places.clone().acquire_owned();
                    tokio::select! {
                        biased;
                        place = place => {
                            let place = place.expect("the semaphore is never closed");
                            return Some((queued, place));
                        }
                        () = self.stopping.stopped() => {
                            self.give_back_one(queued).await;
                            return None;
                        }
                    }
                }
            }
        }
    }

    /// Returns what was claimed and not begun, until the claimer has gone.
    async fn give_back(&mut self) {
        while let Some(queued) = self.queue.recv().await {
            self.give_back_one(queued).await;
        }
    }

    async fn give_back_one(&self, queued: Queued) {
        let finish = Finish {
            claim: queued.job.claim,
            took: Duration::ZERO,
            disposition: Disposition::Return,
        };
        let message = queued.job.message;
        self.load.given_back();
        // A finisher that is gone leaves it to its lease.
        let _ = self
            .finisher
            .send(FinishedAttempt { message, finish })
            .await;
    }
}

async fn work(
    active: Arc<ActiveConsumer>,
    load: Arc<Load>,
    finisher: mpsc::Sender<FinishedAttempt>,
    queued: Queued,
) {
    let (claim, begun) = (queued.job.claim.clone(), Instant::now());
    match attempt::run(&active, queued.job, queued.lost).await {
        Attempted::Finish(ending) => {
            let _ = finisher.send(ending).await;
        }
        Attempted::Already(ending) => {
            active.shared.flights.end(&claim);
            active.shared.nudge.send_replace(());
            let identity = ending.message.identity();
            active
                .shared
                .finals
                .tell(identity, ending.finish.disposition.state());
            active
                .shared
                .watch
                .finished(&ending.message, ending.end(false));
        }
        Attempted::Lost => active.shared.flights.end(&claim),
    }
    load.ended(begun.elapsed());
}
