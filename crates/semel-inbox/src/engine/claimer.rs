//! Claims work for one consumer: one task per process, which asks for as much as there is room for.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{ClaimBatch, Claimed, Job, State, WakeUp};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, sleep_until};

use super::active::ActiveConsumer;
use super::circuit::Allowed;
use super::flights::Lost;
use super::load::{Load, Room};
use super::moment::Moment;
use super::stop::Stopping;
use crate::pause;

/// The pause after a claim that failed, at first.
const PAUSE: Duration = Duration::from_millis(100);
/// The shortest pause between two looks at a consumer that is paused, whatever rings meanwhile.
const PAUSED: Duration = Duration::from_millis(100);
/// Nothing is gained by asking again sooner.
const INSTANT: Duration = Duration::from_millis(1);

/// Work that is claimed and not begun.
pub(super) struct Queued {
    pub(super) job: Job,
    pub(super) lost: Lost,
    /// When its claim was asked for.
    pub(super) asked: Moment,
}

/// The task that claims.
pub(super) struct Claimer {
    pub(super) active: Arc<ActiveConsumer>,
    pub(super) load: Arc<Load>,
    pub(super) queue: mpsc::UnboundedSender<Queued>,
    pub(super) stopping: Stopping,
}

/// When to ask again.
enum Next {
    /// There may be more.
    AtOnce,
    /// After this time, or when something rings.
    WhenCalled(Duration),
    /// The consumer is paused: after this time, or when something rings, but not at every ring.
    Paused(Duration),
    /// After this time, whatever wakes it: a wake-up does not help a store that is away.
    Deaf(Duration),
}

/// What wakes a claimer.
struct Calls {
    wake_up: WakeUp,
    nudged: watch::Receiver<()>,
    circuit: watch::Receiver<()>,
}

impl Claimer {
    /// Claims until it is stopped. What it has claimed by then is in the queue.
    pub(super) async fn run(mut self) {
        let shared = self.active.shared.clone();
        let mut calls = Calls {
            wake_up: shared.inbox.wake_up(self.active.policy.name()),
            nudged: shared.nudge.subscribe(),
            circuit: self.active.breaker.changes(),
        };
        let mut stopping = self.stopping.clone();
        let mut wait = PAUSE;
        loop {
            let room = tokio::select! {
                biased;
                () = stopping.stopped() => return,
                room = self.room(&mut calls) => room,
            };
            let asked = Moment::now(&*shared.clock);
            // Never cancelled: claims whose answer is dropped would have to wait for their leases to end.
            let next = match shared.inbox.claim_batch(self.ask(room)).await {
                Ok(claimed) => {
                    wait = PAUSE;
                    self.take(claimed, room, asked)
                }
                Err(error) => {
                    let consumer = self.active.policy.name();
                    tracing::warn!(%consumer, %error, "messages cannot be claimed, trying again");
                    let pause = wait;
                    wait = pause::longer(wait);
                    Next::Deaf(pause)
                }
            };
            tokio::select! {
                biased;
                () = stopping.stopped() => return,
                () = self.pause(next, &mut calls) => {}
            }
        }
    }

    /// Waits until something may be claimed: how much there is room for, and the circuit lets begin.
    async fn room(&self, calls: &mut Calls) -> Room {
        loop {
            let room = self.load.room().await;
            calls.circuit.mark_unchanged();
            let allowed = match self.active.breaker.allowed() {
                Allowed::All => return room,
                Allowed::Some(more) => more.saturating_sub(self.load.waiting()),
                Allowed::From(at) => {
                    sleep_until(at).await;
                    continue;
                }
            };
            if allowed > 0 {
                let jobs = room.jobs.min(allowed);
                return Room { jobs, ..room };
            }
            // The breaker lives as long as this task.
            let _ = calls.circuit.changed().await;
        }
    }

    fn ask(&self, room: Room) -> ClaimBatch {
        let policy = &self.active.policy;
        ClaimBatch {
            plan: policy.plan.clone(),
            worker: self.active.shared.worker.clone(),
            max: room.jobs,
            bytes_max: room.bytes,
            lease: policy.lease,
            on_unknown: policy.on_unknown,
        }
    }

    /// Queues what was claimed, and says when to ask again.
    fn take(&mut self, claimed: Claimed, room: Room, asked: Moment) -> Next {
        let shared = &self.active.shared;
        for identity in &claimed.settled {
            shared.finals.tell(identity, State::SkippedDuplicate);
            shared.watch.settled_elsewhere(identity);
            self.active.backlog.done();
        }
        let next = self.next(&claimed, room);
        for job in claimed.jobs {
            self.enqueue(job, asked);
        }
        next
    }

    fn enqueue(&self, job: Job, asked: Moment) {
        let (active, shared) = (&self.active, &self.active.shared);
        self.load.claimed(job.message.payload().len());
        if job.reclaimed {
            let identity = job.message.identity();
            active.note(identity, "a message whose worker was lost is claimed again");
            shared.watch.reclaimed(&job.message);
        }
        if job.replay {
            let allowed = active.policy.replay.allowed;
            shared.watch.replayed(&job.message, allowed);
        }
        let lease = active.policy.lease;
        let lost = shared.flights.begin(job.claim.clone(), lease, asked);
        // The starter ends after this task, so the queue is there.
        let _ = self.queue.send(Queued { job, lost, asked });
    }

    fn next(&self, claimed: &Claimed, room: Room) -> Next {
        let poll = self.active.shared.settings.poll.max(INSTANT);
        let bytes: usize = claimed
            .jobs
            .iter()
            .map(|job| job.message.payload().len())
            .sum();
        if claimed.paused {
            return Next::Paused(poll);
        }
        // Fewer than asked for may be all that fit.
        if claimed.jobs.len() >= room.jobs || bytes >= room.bytes {
            return Next::AtOnce;
        }
        let due = claimed.next_due.unwrap_or(poll);
        Next::WhenCalled(due.clamp(INSTANT, poll))
    }

    async fn pause(&self, next: Next, calls: &mut Calls) {
        let pause = match next {
            Next::AtOnce => return,
            Next::Deaf(pause) => return sleep(pause).await,
            Next::WhenCalled(pause) => pause,
            Next::Paused(poll) => {
                // Every arrival rings, and none of them may run.
                sleep(PAUSED.min(poll)).await;
                poll
            }
        };
        tokio::select! {
            () = calls.wake_up.woken() => {}
            Ok(()) = calls.nudged.changed() => {}
            () = sleep(pause) => {}
        }
    }
}
