//! Starts attempts, at most so many at once, and returns on shutdown what it has not started.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Finish, Verdict};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::attempt::{self, Ended, Ending};
use super::claimer::Queued;
use super::load::Load;
use super::post::Post;
use super::stop::Stopping;

/// Starts what is queued until it is stopped; then lets attempts finish until the drain time is over.
pub(super) struct Starter {
    pub(super) post: Arc<Post>,
    pub(super) load: Arc<Load>,
    pub(super) queue: mpsc::UnboundedReceiver<Queued>,
    pub(super) finisher: mpsc::Sender<Ending>,
    pub(super) stopping: Stopping,
}

impl Starter {
    pub(super) async fn run(mut self) {
        let places = Arc::new(Semaphore::new(self.post.consumer.workers));
        let mut attempts = JoinSet::new();
        while let Some((queued, place)) = self.next(&places, &mut attempts).await {
            let work = work(
                self.post.clone(),
                self.load.clone(),
                self.finisher.clone(),
                queued,
            );
            attempts.spawn(async move {
                work.await;
                drop::<OwnedSemaphorePermit>(place);
            });
        }
        let until = Instant::now() + self.post.shared.settings.drain;
        self.give_back().await;
        let drained = async { while attempts.join_next().await.is_some() {} };
        if timeout_at(until, drained).await.is_err() {
            let (consumer, left) = (self.post.consumer.name(), attempts.len());
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
            ticket: queued.job.ticket,
            took: Duration::ZERO,
            verdict: Verdict::Return,
        };
        let message = queued.job.message;
        self.load.given_back();
        // A finisher that is gone leaves it to its lease.
        let _ = self.finisher.send(Ending { message, finish }).await;
    }
}

async fn work(post: Arc<Post>, load: Arc<Load>, finisher: mpsc::Sender<Ending>, queued: Queued) {
    let (ticket, begun) = (queued.job.ticket.clone(), Instant::now());
    match attempt::run(&post, queued.job, queued.lost).await {
        Ended::Finish(ending) => {
            let _ = finisher.send(ending).await;
        }
        Ended::Already(ending) => {
            post.shared.flights.end(&ticket);
            post.shared.nudge.send_replace(());
            let identity = ending.message.identity();
            post.shared
                .finals
                .tell(identity, ending.finish.verdict.state());
            post.shared
                .watch
                .finished(&ending.message, ending.end(false));
        }
        Ended::Lost => post.shared.flights.end(&ticket),
    }
    load.ended(begun.elapsed());
}
