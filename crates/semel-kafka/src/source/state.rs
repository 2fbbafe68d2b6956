//! What the thread that reads and the pump that asks share: a bounded buffer, the partitions that are owned, and what was lost.
//!
//! There is no IO here and no lock; the parent has both.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{Error, Result};
use semel_inbox::source::{
    Batch, Delivery, Event, Gone, Handle, OPEN_MAX, Partition, Raw, Settle, Settled, Want,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::options::From;
use super::owned::{Owned, Topic};
use super::publication::{Publication, Queued};

/// The most bytes that are read ahead.
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most messages that are done behind one that is not, because each is remembered until that one is.
const SPAN_MAX: usize = 100_000;

/// The most messages that wait to be published; then nothing more is handed out.
const PUBLICATIONS_MAX: usize = 10_000;

/// A topic by its place in the subscription, and a partition's number.
pub(super) type At = (usize, i32);

/// A message that was read.
pub(super) struct Pending {
    raw: Raw,
    at: At,
    epoch: u64,
    offset: i64,
    bytes: usize,
    partition: Partition,
}

/// What a handle holds.
struct Held {
    pending: Arc<Pending>,
    turn: u64,
}

pub(super) struct State {
    pub(super) topics: Vec<Topic>,
    from: From,
    epoch: u64,
    turn: u64,
    buffer: VecDeque<Arc<Pending>>,
    /// What was given back, and when it may be handed out again.
    delayed: Vec<(Instant, Arc<Pending>)>,
    bytes: usize,
    gone: VecDeque<Gone>,
    /// What is published together with the next commit, in order.
    publications: VecDeque<Queued>,
    /// Why the last transaction failed, until one commits: effects whose records cannot be written are not begun.
    pub(super) blocked: Option<String>,
    pub(super) failure: Option<Error>,
    pub(super) is_running: bool,
    pub(super) is_stopping: bool,
    /// Whether the thread that reads has panicked, so that the next question starts another.
    pub(super) is_crashed: bool,
}

impl State {
    pub(super) fn new(topics: &[String], from: From) -> Self {
        Self {
            topics: topics.iter().cloned().map(Topic::new).collect(),
            from,
            epoch: 0,
            turn: 0,
            buffer: VecDeque::new(),
            delayed: Vec::new(),
            bytes: 0,
            gone: VecDeque::new(),
            publications: VecDeque::new(),
            blocked: None,
            failure: None,
            is_running: false,
            is_stopping: false,
            is_crashed: false,
        }
    }

    /// Where a partition is, if its topic is one of ours.
    pub(super) fn at(&self, topic: &str, number: i32) -> Option<At> {
        let place = self.topics.iter().position(|known| known.name == topic)?;
        Some((place, number))
    }

    pub(super) fn owned(&mut self, (topic, number): At) -> Option<&mut Owned> {
        self.topics[topic].owned.get_mut(&number)
    }

    pub(super) fn all(&self) -> Vec<At> {
        let topics = self.topics.iter().enumerate();
        let all = topics.flat_map(|(place, topic)| topic.owned.keys().map(move |n| (place, *n)));
        all.collect()
    }

    /// What is to be committed now, of all partitions.
    pub(super) fn positions(&mut self, of: impl Fn(&mut Owned) -> Option<i64>) -> Vec<(At, i64)> {
        let mut positions = Vec::new();
        for (place, topic) in self.topics.iter_mut().enumerate() {
            for (number, owned) in &mut topic.owned {
                let position = of(owned);
                positions.extend(position.map(|position| ((place, *number), position)));
            }
        }
        positions
    }

    /// Partitions are ours from now on.
    pub(super) fn assign(&mut self, all: &[At]) {
        self.lose(all);
        for (topic, number) in all {
            self.epoch += 1;
            let topic = &mut self.topics[*topic];
            let owned = Owned::new(&topic.name, *number, self.epoch);
            topic.owned.insert(*number, owned);
        }
    }

    /// Partitions are not ours any more, and nothing of them can be committed.
    pub(super) fn lose(&mut self, all: &[At]) {
        let mut partitions = Vec::new();
        for (topic, number) in all {
            let lost = self.topics[*topic].owned.remove(number);
            partitions.extend(lost.map(|owned| owned.partition));
        }
        self.drop_read(all);
        self.publications.retain(|queued| !all.contains(&queued.at));
        if !partitions.is_empty() {
            self.gone.push_back(Gone {
                partitions,
                flushed: None,
            });
        }
    }

    /// Partitions will be given up: nothing more of them is handed out. What was can still be answered, until [`State::leave`]; the receiver
    /// says when that is done, and is given only if there is something to wait for.
    pub(super) fn start_leaving(&mut self, all: &[At]) -> Option<oneshot::Receiver<()>> {
        self.drop_read(all);
        let (mut partitions, mut has_open) = (Vec::new(), false);
        for at in all {
            if let Some(owned) = self.owned(*at) {
                owned.is_leaving = true;
                has_open |= owned.has_open();
                partitions.push(owned.partition.clone());
            }
        }
        if partitions.is_empty() {
            return None;
        }
        let (flushed, receiver) = oneshot::channel();
        let flushed = Some(flushed);
        self.gone.push_back(Gone {
            partitions,
            flushed,
        });
        has_open.then_some(receiver)
    }

    /// Partitions are given up: what is to be committed of them. What is published with that stays until it is.
    pub(super) fn leave(&mut self, all: &[At]) -> Vec<(At, i64)> {
        let mut positions = Vec::new();
        for at in all {
            let publishes = self.publications.iter().any(|queued| queued.at == *at);
            let mut left = self.topics[at.0].owned.remove(&at.1);
            let position = left.as_mut().and_then(|owned| match publishes {
                true => owned.position(),
                false => owned.commit_last(),
            });
            positions.extend(position.map(|position| (*at, position)));
        }
        self.drop_read(all);
        positions
    }

    /// Forgets what was read of partitions and not handed out.
    fn drop_read(&mut self, all: &[At]) {
        self.buffer.retain(|pending| !all.contains(&pending.at));
        self.delayed
            .retain(|(_, pending)| !all.contains(&pending.at));
        let delayed = self.delayed.iter().map(|(_, pending)| pending);
        let left = self.buffer.iter().chain(delayed);
        self.bytes = left.map(|pending| pending.bytes).sum();
    }

    /// Whether a message lies before one that was read already.
    pub(super) fn is_rewound(&mut self, at: At, offset: i64) -> bool {
        self.owned(at)
            .is_some_and(|owned| owned.is_rewound_by(offset))
    }

    /// A message was read. One of a partition that is not ours is dropped.
    pub(super) fn push(&mut self, at: At, offset: i64, mut raw: Raw) {
        let topic = &mut self.topics[at.0];
        let Some(owned) = topic.owned.get_mut(&at.1) else {
            return;
        };
        owned.read(offset);
        raw.coordinates = Some(format!("{}/{}/{offset}", topic.id, at.1));
        let pending = Pending {
            bytes: raw.bytes(),
            raw,
            at,
            epoch: owned.epoch,
            offset,
            partition: owned.partition.clone(),
        };
        self.bytes += pending.bytes;
        self.buffer.push_back(Arc::new(pending));
    }

    pub(super) fn is_full(&self) -> bool {
        self.read_ahead() >= OPEN_MAX || self.bytes >= BYTES_MAX
    }

    /// Whether it is worth to read on after a pause.
    pub(super) fn is_half_empty(&self) -> bool {
        self.read_ahead() <= OPEN_MAX / 2 && self.bytes <= BYTES_MAX / 2
    }

    fn read_ahead(&self) -> usize {
        self.buffer.len() + self.delayed.len()
    }

    /// How many messages are open, or done behind one that is.
    pub(super) fn span(&self) -> usize {
        let topics = self.topics.iter();
        let owned = topics.flat_map(|topic| topic.owned.values());
        owned.map(|owned| owned.mark.len()).sum()
    }

    /// Whether so much is done behind a message that is not that nothing more is handed out.
    pub(super) fn is_stuck(&self) -> bool {
        self.span() >= SPAN_MAX
    }

    /// When something that was given back is to be handed out again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.delayed.iter().map(|(due, _)| *due).min()
    }

    /// Whether another thread is to be started: the last one has panicked, and all that it left was said.
    pub(super) fn is_to_open(&self) -> bool {
        let has_said_all = self.gone.is_empty() && self.failure.is_none();
        self.is_crashed && has_said_all && !self.is_stopping
    }

    /// What there is to say now.
    pub(super) fn take(&mut self, want: Want, now: Instant) -> Option<Result<Event>> {
        if let Some(gone) = self.gone.pop_front() {
            return Some(Ok(Event::Gone(gone)));
        }
        if let Some(error) = self.failure.take() {
            return Some(Err(error));
        }
        if !self.is_running {
            return Some(Err(Error::invalid("the source is not open")));
        }
        let is_behind = self.publications.len() >= PUBLICATIONS_MAX || self.blocked.is_some();
        if want.count == 0 || self.is_stuck() || is_behind {
            return None;
        }
        self.bring_back(now);
        let deliveries = self.hand_out(want);
        (!deliveries.is_empty()).then(|| Ok(Event::Batch(Batch::of(deliveries))))
    }

    /// What was given back and is due comes before what was not handed out yet, in the order of its partition.
    fn bring_back(&mut self, now: Instant) {
        let is_due = |(due, _): &mut (Instant, Arc<Pending>)| *due <= now;
        let mut due: Vec<_> = self.delayed.extract_if(.., is_due).collect();
        due.sort_by_key(|(_, pending)| (pending.at, pending.offset));
        for (_, pending) in due.into_iter().rev() {
            self.buffer.push_front(pending);
        }
    }

    fn hand_out(&mut self, want: Want) -> Vec<Delivery> {
        let (mut deliveries, mut bytes) = (Vec::new(), 0);
        let from = self.from;
        while let Some(next) = self.buffer.front() {
            if want.is_met(deliveries.len(), bytes, next.bytes) {
                break;
            }
            let Some(pending) = self.buffer.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(pending.bytes);
            bytes += pending.bytes;
            self.turn += 1;
            let turn = self.turn;
            let owned = self.owned(pending.at);
            let owned = owned.filter(|owned| owned.epoch == pending.epoch && !owned.is_leaving);
            let Some(owned) = owned else {
                continue;
            };
            owned.hand_out(pending.offset, turn, from);
            deliveries.push(Delivery {
                raw: pending.raw.clone(),
                partition: pending.partition.clone(),
                handle: Handle::new(Held { pending, turn }),
            });
        }
        deliveries
    }

    /// Answers one delivery.
    pub(super) fn settle(&mut self, handle: &Handle, how: Settle, now: Instant) -> Settled {
        let Some((pending, owned)) = self.open(handle) else {
            return Settled::Gone;
        };
        match how {
            Settle::Ack => owned.done(pending.offset),
            Settle::Back(pause) => {
                owned.give_back(pending.offset);
                if !owned.is_leaving {
                    self.bytes += pending.bytes;
                    self.delayed.push((later(now, pause), pending.clone()));
                }
            }
            Settle::Extend => {}
            _ => return Settled::Later,
        }
        Settled::Done
    }

    /// Acknowledges one delivery together with what is published because of it. Nothing that was done after it is committed without that.
    pub(super) fn publish_and_ack(
        &mut self,
        handle: &Handle,
        publications: Vec<Publication>,
    ) -> Settled {
        let Some((pending, owned)) = self.open(handle) else {
            return Settled::Gone;
        };
        owned.done(pending.offset);
        self.enqueue(pending.at, pending.epoch, publications);
        Settled::Done
    }

    /// Whether a delivery is open and its partition is not being given up.
    pub(super) fn holds(&mut self, handle: &Handle) -> bool {
        self.open(handle)
            .is_some_and(|(_, owned)| !owned.is_leaving)
    }

    pub(super) fn has_room_to_publish(&self) -> bool {
        self.publications.len() < PUBLICATIONS_MAX / 2
    }

    fn enqueue(&mut self, at: At, epoch: u64, publications: Vec<Publication>) {
        let queued = publications.into_iter();
        self.publications.extend(queued.map(|publication| Queued {
            at,
            epoch,
            publication,
            is_suspect: false,
        }));
    }

    /// Publishes with the next commit of a partition, if it is ours.
    pub(super) fn publish(&mut self, at: At, publications: Vec<Publication>) {
        let Some(epoch) = self.owned(at).map(|owned| owned.epoch) else {
            return;
        };
        self.enqueue(at, epoch, publications);
    }

    /// What is published with this commit, and the commit itself with the positions of all partitions that publish something: the broker compares
    /// the member with the group only where offsets are committed.
    pub(super) fn take_publications(
        &mut self,
        positions: &[(At, i64)],
    ) -> (Vec<Queued>, Vec<(At, i64)>) {
        let queued = Vec::from(std::mem::take(&mut self.publications));
        let mut positions = positions.to_vec();
        for Queued { at, .. } in &queued {
            if positions.iter().any(|(known, _)| known == at) {
                continue;
            }
            let position = self.owned(*at).and_then(|owned| owned.position());
            positions.extend(position.map(|position| (*at, position)));
        }
        (queued, positions)
    }

    /// What was taken was not published: it is with the next commit, unless its partition is gone.
    pub(super) fn put_back(&mut self, queued: Vec<Queued>) {
        for one in queued.into_iter().rev() {
            let owned = self.owned(one.at);
            if owned.is_some_and(|owned| owned.epoch == one.epoch) {
                self.publications.push_front(one);
            }
        }
    }

    /// The delivery that a handle is of and its partition, if it is still open.
    fn open<'a>(&mut self, handle: &'a Handle) -> Option<(&'a Arc<Pending>, &mut Owned)> {
        let Held { pending, turn } = handle.get::<Held>()?;
        let owned = self.topics[pending.at.0].owned.get_mut(&pending.at.1);
        let is_open = |owned: &&mut Owned| {
            owned.epoch == pending.epoch && owned.is_open(pending.offset, *turn)
        };
        Some((pending, owned.filter(is_open)?))
    }
}

fn later(now: Instant, pause: Duration) -> Instant {
    now.checked_add(pause).unwrap_or(now)
}

#[cfg(test)]
mod tests;
