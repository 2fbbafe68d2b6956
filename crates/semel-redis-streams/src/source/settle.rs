//! Answers to deliveries.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use redis::Value;
use semel_core::Result;
use semel_inbox::source::{Handle, Settle, Settled};

use super::group::Group;
use crate::entry::{self, Entry, Epoch};
use crate::link::{Script, arg};

/// The most deliveries that one script answers, so that it does not keep the server for long.
const SETTLE_MAX: usize = 200;

/// What the script says of a delivery that it has answered, and of one whose entry was deleted from the stream.
const DONE: i64 = 1;
const DELETED: i64 = 2;

static SETTLE: Script = Script::new(include_str!("../../scripts/settle.lua"));

/// What became of an answer, and of the message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// Extended, but its entry was deleted: the message is nowhere but in this process.
    OnlyHere,
    Gone,
    /// Its entry was deleted, and it was given back: the message is nowhere.
    Lost,
}

impl From<Fate> for Settled {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Done | Fate::OnlyHere => Self::Done,
            Fate::Gone | Fate::Lost => Self::Gone,
        }
    }
}

impl Group {
    /// Answers deliveries, each by itself.
    pub(super) async fn settle(&self, items: Vec<(Handle, Settle)>) -> Result<Vec<Settled>> {
        let items: Vec<_> = items
            .iter()
            .map(|(handle, how)| handle.get::<Entry>().map(|entry| (entry, *how)))
            .collect();
        self.settle_all(&items).await
    }

    /// The same; what is no delivery of this source is gone.
    pub(super) async fn settle_all(
        &self,
        items: &[Option<(&Entry, Settle)>],
    ) -> Result<Vec<Settled>> {
        let chunks = items
            .chunks(SETTLE_MAX)
            .map(|chunk| self.settle_some(chunk));
        let mut settled = Vec::with_capacity(items.len());
        for (done, chunk) in join_all(chunks)
            .await
            .into_iter()
            .zip(items.chunks(SETTLE_MAX))
        {
            match done {
                Ok(done) => settled.extend(done),
                // The others were answered, so this is about these alone.
                Err(error) if error.is_retryable() && items.len() > SETTLE_MAX => {
                    let (source, count) = (&self.name, chunk.len());
                    tracing::debug!(source, count, %error, "deliveries cannot be answered now");
                    settled.extend(chunk.iter().map(|_| Settled::Later));
                }
                Err(error) => return Err(error),
            }
        }
        let returned = items.iter().flatten();
        let delays: BTreeSet<Duration> = returned
            .filter_map(|(_, how)| match how {
                Settle::Back(delay) => Some((*delay).min(self.reading.idle)),
                _ => None,
            })
            .collect();
        delays.into_iter().for_each(|delay| self.hurry(delay));
        Ok(settled)
    }

    async fn settle_some(&self, items: &[Option<(&Entry, Settle)>]) -> Result<Vec<Settled>> {
        let is_current = |(entry, _): &&(&Entry, Settle)| self.is_current(&entry.epoch);
        let current: Vec<_> = items
            .iter()
            .map(|item| item.as_ref().filter(is_current))
            .collect();
        let Some((first, _)) = current.iter().flatten().next() else {
            return Ok(vec![Settled::Gone; items.len()]);
        };
        let epoch = first.epoch.clone();
        let mut args = vec![
            arg(&self.reading.group),
            arg(&self.me),
            arg(&epoch.returned),
        ];
        for (entry, how) in current.iter().flatten() {
            let (verb, idle) = self.verb(*how);
            args.extend([
                arg(&entry.id),
                arg(entry.count),
                arg(verb),
                arg(idle.as_millis()),
            ]);
        }
        let extends = |item: &&(&Entry, Settle)| matches!(item.1, Settle::Extend);
        let (_alone, _shared) = match current.iter().flatten().any(extends) {
            true => (Some(self.extending.write().await), None),
            false => (None, Some(self.extending.read().await)),
        };
        let answer = self
            .calls
            .run("answering deliveries", &SETTLE, &args)
            .await?;
        let mut answers = self.answers(&epoch, answer).into_iter();
        let mut fates = Vec::with_capacity(items.len());
        for item in &current {
            let fate = item.map(|(entry, how)| self.fate(entry, *how, answers.next()));
            fates.push(fate.unwrap_or(Fate::Gone));
        }
        self.report(&fates);
        Ok(fates.into_iter().map(Settled::from).collect())
    }

    /// What the script's answer means for a delivery, given what is known of those that are nowhere but here.
    fn fate(&self, entry: &Entry, how: Settle, said: Option<Value>) -> Fate {
        let is_deleted = said == Some(Value::Int(DELETED));
        match how {
            _ if said == Some(Value::Int(DONE)) => Fate::Done,
            Settle::Ack if self.let_go(entry) => Fate::Done,
            Settle::Ack => Fate::Gone,
            Settle::Back(_) if is_deleted || self.let_go(entry) => Fate::Lost,
            Settle::Back(_) => Fate::Gone,
            // Extended: the message is in memory, and no other reader can have it.
            _ if is_deleted && self.keep_here(entry) => Fate::OnlyHere,
            _ if is_deleted => Fate::Lost,
            _ if self.is_only_here(entry) => Fate::Done,
            _ => Fate::Gone,
        }
    }

    fn report(&self, fates: &[Fate]) {
        let number = |wanted| fates.iter().filter(|fate| **fate == wanted).count();
        self.lost(number(Fate::Lost) as u64);
        let (source, count) = (&self.name, number(Fate::OnlyHere));
        if count > 0 {
            tracing::warn!(
                source,
                count,
                "entries were deleted or trimmed while this reader had them; their messages are lost if it ends before they are acknowledged"
            );
        }
    }

    /// Notices a stream or a group that was deleted, without reading.
    pub(super) async fn check(&self) -> Result<()> {
        let epoch = self.epoch().await?;
        let args = [
            arg(&self.reading.group),
            arg(&self.me),
            arg(&epoch.returned),
        ];
        let answer = self
            .calls
            .run("looking after the group", &SETTLE, &args)
            .await?;
        self.answers(&epoch, answer);
        Ok(())
    }

    /// What the script said about each delivery; nothing if the group is another one.
    fn answers(&self, epoch: &Epoch, answer: Value) -> Vec<Value> {
        entry::list(answer).unwrap_or_else(|| {
            self.lose(epoch);
            Vec::new()
        })
    }

    /// What the script does, and the idle time after which an entry is that is given back: it can be taken over when this has
    /// grown to the term. A longer pause than the term cannot be said.
    fn verb(&self, how: Settle) -> (&'static str, Duration) {
        match how {
            Settle::Ack => ("a", Duration::ZERO),
            Settle::Back(delay) => ("b", self.reading.idle.saturating_sub(delay)),
            // Whatever else may come: a delivery that is kept is not lost.
            _ => ("e", Duration::ZERO),
        }
    }
}
