//! Claims work for one consumer: one task per process, which asks for as much as there is room for.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{ClaimBatch, Claimed, Job};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::flights::Lost;
use super::load::Load;
use super::post::Post;
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
    post: Arc<Post>,
    load: Arc<Load>,
    queue: mpsc::UnboundedSender<Queued>,
    mut stopping: Stopping,
) {
    let mut bell = post.shared.inbox.bell(post.consumer.name());
    let mut nudged = post.shared.nudge.subscribe();
    let mut wait = PAUSE;
    loop {
        let room = tokio::select! {
            biased;
            () = stopping.stopped() => return,
            room = load.room() => room,
        };
        let asked = Instant::now();
        // Never cancelled: claims that nobody knows of would have to wait for their leases to end.
        let pause = match post.shared.inbox.claim_batch(ask(&post, room)).await {
            Ok(claimed) => {
                wait = PAUSE;
                let pause = pause_after(&claimed, room, post.shared.settings.poll);
                enqueue(&post, &load, &queue, claimed.jobs, asked);
                pause
            }
            Err(error) => {
                let consumer = post.consumer.name();
                tracing::warn!(%consumer, %error, "messages cannot be claimed, trying again");
                let pause = wait;
                wait = pause::longer(wait);
                // A bell does not help a store that is away.
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
                () = bell.rung() => {}
                Ok(()) = nudged.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }
}

fn ask(post: &Post, max: usize) -> ClaimBatch {
    ClaimBatch {
        consumer: post.consumer.name().clone(),
        worker: post.shared.worker.clone(),
        max,
        lease: post.consumer.lease,
        on_lost: post.consumer.on_lost,
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
    post: &Post,
    load: &Load,
    queue: &mpsc::UnboundedSender<Queued>,
    jobs: Vec<Job>,
    asked: Instant,
) {
    load.claimed(jobs.len());
    for job in jobs {
        if job.reclaimed {
            let identity = job.message.identity();
            post.note(identity, "a message whose worker was lost is claimed again");
            post.shared.watch.reclaimed(&job.message);
        }
        let flights = &post.shared.flights;
        let lost = flights.begin(job.ticket.clone(), post.consumer.lease, asked);
        // The starter ends after this task, so the queue is there.
        let _ = queue.send(Queued { job, lost });
    }
}
