//! Claims work for one consumer: one task per process, which asks for as much as there is room for.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::CLAIM_BYTES_MAX;
use semel_core::inbox::{ClaimBatch, Claimed, Job};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::active::ActiveConsumer;
use super::flights::Lost;
use super::load::Load;
use super::stop::Stopping;
use crate::pause;

/// The pause after a claim that failed, at first.
const PAUSE: Duration = Duration::from_millis(100);

/// Work that is claimed and not begun.
pub(super) struct Queued {
    pub(super) job: Job,
    pub(super) lost: Lost,
}

/// Claims until it is stopped. What it has claimed by then is in the queue.
pub(super) async fn run(
    active: Arc<ActiveConsumer>,
    load: Arc<Load>,
    queue: mpsc::UnboundedSender<Queued>,
    mut stopping: Stopping,
) {
    let mut wake_up = active.shared.inbox.wake_up(active.policy.name());
    let mut nudged = active.shared.nudge.subscribe();
    let mut wait = PAUSE;
    loop {
        let room = tokio::select! {
            biased;
            () = stopping.stopped() => return,
            room = load.room() => room,
        };
        let asked = Instant::now();
        // Never cancelled: claims that nobody knows of would have to wait for their leases to end.
        let pause = match active.shared.inbox.claim_batch(ask(&active, room)).await {
            Ok(claimed) => {
                wait = PAUSE;
                let pause = pause_after(&claimed, room, active.shared.settings.poll);
                enqueue(&active, &load, &queue, claimed.jobs, asked);
                pause
            }
            Err(error) => {
                let consumer = active.policy.name();
                tracing::warn!(%consumer, %error, "messages cannot be claimed, trying again");
                let pause = wait;
                wait = pause::longer(wait);
                // A wake_up does not help a store that is away.
                tokio::select! {
                    () = stopping.stopped() => return,
                    () = sleep(pause) => None,
                }
            }
        };
        if let Some(pause) = pause {
            tokio::select! {
                biased;
                () = stopping.stopped() => return,
                () = wake_up.woken() => {}
                Ok(()) = nudged.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }
}

fn ask(active: &ActiveConsumer, max: usize) -> ClaimBatch {
    ClaimBatch {
        plan: active.policy.plan.clone(),
        worker: active.shared.worker.clone(),
        max,
        bytes_max: CLAIM_BYTES_MAX,
        lease: active.policy.lease,
        on_unknown: active.policy.on_unknown,
    }
}

/// How long to wait before asking again; not at all if there may be more.
fn pause_after(claimed: &Claimed, asked_for: usize, poll: Duration) -> Option<Duration> {
    if claimed.jobs.len() >= asked_for {
        return None;
    }
    let due = claimed.next_due.unwrap_or(poll);
    // Nothing is gained by asking again within the same millisecond.
    Some(due.clamp(Duration::from_millis(1), poll.max(Duration::from_millis(1))))
}

fn enqueue(
    active: &ActiveConsumer,
    load: &Load,
    queue: &mpsc::UnboundedSender<Queued>,
    jobs: Vec<Job>,
    asked: Instant,
) {
    load.claimed(jobs.len());
    for job in jobs {
        if job.reclaimed {
            let identity = job.message.identity();
            active.note(identity, "a message whose worker was lost is claimed again");
            active.shared.watch.reclaimed(&job.message);
        }
        let flights = &active.shared.flights;
        let lost = flights.begin(job.claim.clone(), active.policy.lease, asked);
        // The starter ends after this task, so the queue is there.
        let _ = queue.send(Queued { job, lost });
    }
}
