//! Receives what a source delivers, for verbs that bring messages in.

use semel_core::inbox::{Arrivals, BATCH_MAX, Message, Receipt};
use semel_inbox::source::{Delivery, Want};
use semel_inbox::{Consumer, Rule};
use serde::Serialize;

use super::OpenInbox;
use crate::error::Result;
use crate::{output, text};

/// How much is read before it is stored.
pub(crate) const WANT: Want = Want {
    count: BATCH_MAX,
    bytes: 8 * 1024 * 1024,
};

/// The way in to one consumer, and what became of what came.
pub(crate) struct Intake<'a> {
    open: &'a OpenInbox,
    consumer: Consumer,
    rule: Rule,
    counts: Counts,
}

/// What became of what came.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Counts {
    stored: u64,
    duplicates: u64,
    conflicts: u64,
    /// What is no message; it is among what is stored, or known.
    unreadable: u64,
}

impl<'a> Intake<'a> {
    pub(crate) fn new(open: &'a OpenInbox, consumer: Consumer, rule: Rule) -> Self {
        Self {
            open,
            consumer,
            rule,
            counts: Counts::default(),
        }
    }

    pub(crate) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Stores deliveries; they are durable when this returns.
    pub(crate) async fn take(&mut self, deliveries: &[Delivery]) -> Result<()> {
        let (rule, consumer) = (&self.rule, &self.consumer);
        let messages = deliveries.iter();
        let messages = messages.flat_map(|one| rule.messages(consumer, &one.raw));
        let messages: Vec<Message> = messages.collect();
        for message in &messages {
            if let Some(why) = message.unreadable() {
                self.counts.unreadable += 1;
                let place = message.origin().offset.unwrap_or(0);
                output::note(&format!("line {place}: {why}"));
            }
        }
        // A batch of events is several messages.
        for messages in messages.chunks(BATCH_MAX) {
            self.receive(messages.to_vec()).await?;
        }
        Ok(())
    }

    async fn receive(&mut self, messages: Vec<Message>) -> Result<()> {
        let arrivals = Arrivals {
            plan: self.consumer.plan.clone(),
            messages,
            positions: Vec::new(),
        };
        for receipt in self.open.inbox.receive(arrivals).await? {
            match receipt {
                Receipt::Stored { .. } => self.counts.stored += 1,
                Receipt::Duplicate { .. } => self.counts.duplicates += 1,
                Receipt::Conflict => self.counts.conflicts += 1,
            }
        }
        Ok(())
    }
}

impl Counts {
    pub(crate) fn print(&self, json: bool) -> Result<()> {
        if json {
            return output::json(self);
        }
        let lines = [
            ("stored", self.stored, ""),
            ("duplicates", self.duplicates, "there already"),
            (
                "conflicts",
                self.conflicts,
                "another payload under a known id, parked",
            ),
            (
                "unreadable",
                self.unreadable,
                "of these are no messages, parked: semel inbox list --cause unreadable",
            ),
        ];
        output::data(&text::counted(&lines))
    }
}
