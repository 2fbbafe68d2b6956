//! What becomes of a message whose attempts have ended, and what is published with its acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Cause, Disposition, Intent, Message};
use semel_inbox::intents::Outgoing;
use semel_inbox::source::Settled;

use super::Run;
use crate::processed::ids::Known;
use crate::processed::lanes::Job;
use crate::processed::record::{self, Processed};
use crate::source::Publication;

/// How many expired ids of one partition are forgotten at once; a transaction holds so many tombstones of each, as far as there is room.
const EXPIRED_MAX: usize = 1_000;
/// How often expired ids are forgotten, and how soon again as long as there are more.
const EXPIRY: [Duration; 2] = [Duration::from_secs(5), Duration::from_millis(100)];

impl Run {
    pub(super) fn disposed(&mut self, job: &Job, disposition: Disposition) {
        match disposition {
            Disposition::Completed { intents, .. } => self.done(job, &intents),
            Disposition::Skip { .. } => self.done(job, &[]),
            Disposition::Terminal { error } => {
                self.dead(job, Cause::Terminal.name(), error.as_str())
            }
            Disposition::Park { cause, error } => self.dead(job, cause.name(), error.as_str()),
            // These are tried again where they come from.
            Disposition::Retry { .. } | Disposition::NotReached { .. } | Disposition::Return => {
                self.give_up(job);
            }
        }
    }

    /// What was processed is remembered, and what is to be published is.
    fn done(&mut self, job: &Job, intents: &[Intent]) {
        let mut publications = Vec::new();
        for Intent { plan, message } in intents {
            let name = plan.consumer.name().rsplit(':').next().unwrap_or_default();
            if let Some(topic) = self.parts.topics.targets.get(name) {
                publications.push(published(topic, message));
            }
        }
        self.processed(job, Processed::Done, publications);
    }

    /// A message that a person must look at.
    pub(super) fn dead(&mut self, job: &Job, cause: &str, error: &str) {
        let (consumer, id) = (self.consumer(), job.message.identity().key());
        tracing::warn!(%consumer, message = %id, cause, error, "a message goes to the dead letters");
        let Some(open) = self.board.get_mut(job.delivery) else {
            return self.give_up(job);
        };
        let raw = open.raw.clone();
        let letter = Publication {
            topic: self.parts.topics.dead.clone(),
            partition: None,
            key: raw.key.clone(),
            headers: record::dead_headers(raw.headers.clone(), &job.message, cause, error),
            payload: raw.payload.clone(),
        };
        match cause {
            // The id belongs to the first message.
            "conflict" => {
                open.publications.push(letter);
                self.dealt_with(job);
            }
            _ => self.processed(job, Processed::Dead, vec![letter]),
        }
    }

    fn processed(&mut self, job: &Job, how: Processed, publications: Vec<Publication>) {
        let known = Known {
            at_ms: self.parts.solo.clock().now().as_millis(),
            fingerprint: job.fingerprint,
        };
        let Some(open) = self.board.get_mut(job.delivery) else {
            return self.give_up(job);
        };
        open.publications.push(Publication {
            topic: self.parts.topics.log.clone(),
            partition: Some(job.partition),
            key: Some(record::key(&job.digest)),
            headers: Vec::new(),
            payload: Some(record::value(&job.message, known, how)),
        });
        open.publications.extend(publications);
        open.learned.push((job.digest, known));
        self.dealt_with(job);
    }

    /// Acknowledges a delivery whose messages are all dealt with.
    pub(super) fn dealt_with(&mut self, job: &Job) {
        let Some(open) = self.board.dealt_with(job.delivery) else {
            return;
        };
        let settled = self
            .parts
            .source
            .publish_and_ack(&open.handle, open.publications);
        let owned = self.owned.get_mut(&open.partition);
        if let (Settled::Done, Some(owned)) = (settled, owned) {
            for (digest, known) in &open.learned {
                owned.ids.insert(*digest, *known);
            }
        }
        for (digest, _) in open.learned {
            self.let_go(&digest);
        }
    }

    /// What was processed before this time, in milliseconds since 1970, is forgotten.
    pub(super) fn expired_before(&self) -> i64 {
        let keep = self.parts.solo.consumer().plan.retention.keep();
        self.parts.solo.clock().now().before(keep).as_millis()
    }

    /// Forgets ids whose retention has ended; when to do so again.
    pub(super) fn expire(&mut self) -> Duration {
        let before = self.expired_before();
        let mut has_more = false;
        for (partition, owned) in &mut self.owned {
            if !self.parts.source.has_room_to_publish() {
                has_more = true;
                break;
            }
            let expired = owned.ids.expire(before, EXPIRED_MAX);
            has_more |= expired.len() >= EXPIRED_MAX;
            let tombstone = |digest| Publication {
                topic: self.parts.topics.log.clone(),
                partition: Some(*partition),
                key: Some(record::key(&digest)),
                headers: Vec::new(),
                payload: None,
            };
            let tombstones: Vec<Publication> = expired.into_iter().map(tombstone).collect();
            self.parts.source.publish(*partition, tombstones);
        }
        EXPIRY[usize::from(has_more)]
    }
}

/// An intent as the message that its topic is given.
fn published(topic: &Arc<str>, message: &Message) -> Publication {
    let outgoing = Outgoing::of(message, message.identity().key().as_str());
    let mut headers = outgoing.headers;
    headers.push(("message-id".to_owned(), Some(outgoing.id.into())));
    Publication {
        topic: topic.clone(),
        partition: None,
        key: outgoing.key,
        headers,
        payload: outgoing.payload,
    }
}
