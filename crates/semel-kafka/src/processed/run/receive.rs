//! Takes deliveries in: parked until the log of their partition was read, then each message is looked up.

use std::sync::Arc;
use std::time::Duration;

use semel_core::duplicate::{Duplicate, Origin};
use semel_core::inbox::{Receipt, State};
use semel_inbox::source::{Batch, Delivery, Event};
use tokio::sync::watch;

use super::loads::Loaded;
use super::{Owned, Run};
use crate::processed::ids::Seen;
use crate::processed::lanes::{Added, Job};
use crate::processed::{load, record};

impl Run {
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Batch(Batch { deliveries, .. }) => {
                for delivery in deliveries {
                    self.delivered(delivery);
                }
            }
            Event::Gone(gone) => self.lose(gone),
            _ => {}
        }
    }

    /// Takes a delivery in, or parks it until the log of its partition was read.
    fn delivered(&mut self, delivery: Delivery) {
        // Every message of Kafka has a partition.
        let partition = delivery.raw.origin.partition.unwrap_or_default();
        if self.owned.contains_key(&partition) {
            self.submit_all(partition, delivery);
        } else if self.loads.park(partition, delivery) {
            self.load(partition, Duration::ZERO);
        }
    }

    fn load(&mut self, partition: i32, pause: Duration) {
        let (options, log) = (self.parts.options.clone(), self.parts.topics.log.clone());
        let before_ms = self.expired_before();
        self.loads.begin(partition, pause, move |is_abandoned| {
            let part = load::Part {
                log: &log,
                partition,
                before_ms,
                is_abandoned,
            };
            load::load(&options, &part)
        });
    }

    pub(super) fn loaded(&mut self, loaded: Loaded) {
        let partition = loaded.partition;
        let ids = match loaded.ids {
            Ok(ids) => ids,
            Err(error) => {
                let what = "nothing of a partition runs, because its log cannot be read";
                let pause = self.failed(what, &error);
                return self.load(partition, pause);
            }
        };
        let (consumer, count) = (self.consumer(), ids.len());
        tracing::info!(%consumer, partition, ids = count, "the log of a partition was read");
        let (leaving, _) = watch::channel(false);
        self.owned.insert(partition, Owned { ids, leaving });
        for delivery in self.loads.release(partition) {
            self.submit_all(partition, delivery);
        }
    }

    fn submit_all(&mut self, partition: i32, delivery: Delivery) {
        let Delivery { raw, handle, .. } = delivery;
        let messages = self.parts.rule.messages(self.parts.solo.consumer(), &raw);
        let raw = Arc::new(raw);
        let count = messages.len();
        let delivery = self.board.add(handle, raw, partition, count);
        for message in messages {
            let job = Job {
                delivery,
                partition,
                digest: record::digest(&message),
                fingerprint: record::fingerprint(&message),
                message: Arc::new(message),
            };
            self.submit(job);
        }
    }

    /// Looks a message up: what is known does not run.
    pub(super) fn submit(&mut self, job: Job) {
        let Some(owned) = self.owned.get(&job.partition) else {
            return;
        };
        match owned.ids.seen(&job.digest, job.fingerprint) {
            Seen::Duplicate => self.duplicate(&job, true),
            Seen::Conflict => self.conflict(&job),
            Seen::New => match job.message.unreadable() {
                Some(why) => {
                    let why = why.to_owned();
                    self.dead(&job, "unreadable", &why);
                }
                None => match self.lanes.add(job) {
                    Added::Waits => {}
                    Added::Repeats { is_equal, job } => match is_equal {
                        true => self.duplicate(&job, false),
                        false => self.conflict(&job),
                    },
                },
            },
        }
    }

    fn duplicate(&mut self, job: &Job, is_done: bool) {
        let state = State::Completed;
        let watch = self.parts.solo.watch();
        watch.received(&job.message, Receipt::duplicate(state));
        // What was processed and committed is never delivered again from the same place, so its producer has sent it again.
        let origin = match is_done {
            true => Origin::ClientRetry,
            false => Origin::ConcurrentRetry,
        };
        watch.duplicate(&Duplicate::of(job.message.identity().scope(), origin));
        self.dealt_with(job);
    }

    fn conflict(&mut self, job: &Job) {
        let watch = self.parts.solo.watch();
        watch.received(&job.message, Receipt::Conflict);
        self.dead(job, "conflict", "the id is known with another content");
    }
}
