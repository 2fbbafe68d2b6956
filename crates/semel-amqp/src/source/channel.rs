//! One channel with the delivery tags that are open on it.
//!
//! A tag that is answered twice makes the broker close the channel, so each is answered once and then forgotten here. `multiple` is used only for
//! the tags from the lowest open one on, without a hole, because the broker takes it to mean everything below.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::join_all;
use lapin::Channel;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use semel_inbox::source::{Handle, Partition, Settle, Settled};

/// A channel from its opening to its loss.
pub(super) struct Chan {
    pub(super) channel: Channel,
    pub(super) partition: Partition,
    gone: AtomicBool,
    open: Mutex<BTreeSet<u64>>,
}

/// A delivery. It does not keep its channel: one that its reader has left must end, so that the broker queues again what was open.
pub(super) struct Tag {
    pub(super) chan: Weak<Chan>,
    pub(super) number: u64,
}

impl Tag {
    /// Its channel, as long as something can be answered on it.
    fn alive(&self) -> Option<Arc<Chan>> {
        self.chan.upgrade().filter(|chan| chan.is_alive())
    }
}

/// How tags are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Ack,
    Requeue,
}

impl Chan {
    pub(super) fn new(channel: Channel, number: u64) -> Self {
        Self {
            channel,
            partition: Partition::new(format!("channel {number}")),
            gone: AtomicBool::new(false),
            open: Mutex::default(),
        }
    }

    pub(super) fn delivered(&self, tag: u64) {
        self.open().insert(tag);
    }

    /// All its tags are worthless from now on.
    pub(super) fn lose(&self) {
        self.gone.store(true, Ordering::Release);
        self.open().clear();
    }

    fn is_alive(&self) -> bool {
        !self.gone.load(Ordering::Acquire) && self.channel.status().connected()
    }

    fn is_open(&self, tag: u64) -> bool {
        self.open().contains(&tag)
    }

    fn open(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        // The set is whole after every statement, so a poisoned lock protects nothing.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a tag; with `multiple` all open ones below it too.
    async fn answer(&self, how: How, tag: u64, multiple: bool) -> bool {
        // From here to the first await everything happens in one poll: a caller that is dropped leaves the tag either open or answered.
        {
            let mut open = self.open();
            match multiple {
                true => *open = open.split_off(&tag.saturating_add(1)),
                false => _ = open.remove(&tag),
            }
        }
        let sent = match how {
            How::Ack => {
                self.channel
                    .basic_ack(tag, BasicAckOptions { multiple })
                    .await
            }
            How::Requeue => {
                let requeue = BasicNackOptions {
                    multiple,
                    requeue: true,
                };
                self.channel.basic_nack(tag, requeue).await
            }
        };
        sent.is_ok()
    }

    /// Answers tags in one way; which of them were answered.
    async fn answer_all(&self, how: How, tags: &BTreeSet<u64>) -> BTreeSet<u64> {
        let (below, single) = split(&self.open(), tags);
        let mut done = BTreeSet::new();
        if let Some(last) = below.last()
            && self.answer(how, *last, below.len() > 1).await
        {
            done.extend(below);
        }
        let single: Vec<u64> = single.into_iter().collect();
        let answered = join_all(single.iter().map(|tag| self.answer(how, *tag, false))).await;
        let answered = single.iter().zip(answered).filter(|(_, is_done)| *is_done);
        done.extend(answered.map(|(tag, _)| *tag));
        done
    }
}

/// Which of the tags are the lowest open ones without a hole, and which of the others are open.
fn split(open: &BTreeSet<u64>, tags: &BTreeSet<u64>) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let below: BTreeSet<u64> = open
        .iter()
        .take_while(|tag| tags.contains(tag))
        .copied()
        .collect();
    let others = tags.difference(&below);
    let others = others.filter(|tag| open.contains(tag)).copied().collect();
    (below, others)
}

/// Answers deliveries, each by itself.
pub(super) async fn settle(items: Vec<(Handle, Settle)>) -> Vec<Settled> {
    let mut wanted: HashMap<(usize, bool), (Arc<Chan>, BTreeSet<u64>)> = HashMap::new();
    for (handle, how) in &items {
        let is_ack = match how {
            Settle::Ack => true,
            Settle::Back(_) => false,
            _ => continue,
        };
        let Some(tag) = handle.get::<Tag>() else {
            continue;
        };
        let Some(chan) = tag.alive() else {
            continue;
        };
        let entry = wanted.entry((tag.chan.as_ptr().addr(), is_ack));
        let (_, tags) = entry.or_insert_with(|| (chan, BTreeSet::new()));
        tags.insert(tag.number);
    }
    let mut done: HashMap<(usize, bool), BTreeSet<u64>> = HashMap::new();
    for ((place, is_ack), (chan, tags)) in wanted {
        let how = if is_ack { How::Ack } else { How::Requeue };
        done.insert((place, is_ack), chan.answer_all(how, &tags).await);
    }
    let settled = items.iter().map(|(handle, how)| {
        let Some(tag) = handle.get::<Tag>() else {
            return Settled::Gone;
        };
        let place = tag.chan.as_ptr().addr();
        let answered = |is_ack| {
            let tags = done.get(&(place, is_ack));
            tags.is_some_and(|tags| tags.contains(&tag.number))
        };
        let is_done = match how {
            Settle::Ack => answered(true),
            Settle::Back(_) => answered(false),
            // Nothing can be extended, and nothing ends while the channel lives.
            _ => tag.alive().is_some_and(|chan| chan.is_open(tag.number)),
        };
        if is_done {
            Settled::Done
        } else {
            Settled::Gone
        }
    });
    settled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_no_hole_below_it_is_answered_together() {
        for (open, tags, below, others) in [
            (&[1, 2, 3][..], &[1, 2, 3][..], &[1, 2, 3][..], &[][..]),
            (&[1, 2, 3], &[2, 3], &[], &[2, 3]),
            (&[2, 5, 7, 9], &[2, 5, 9], &[2, 5], &[9]),
            (&[4], &[3, 4, 5], &[4], &[]),
            (&[], &[1], &[], &[]),
        ] {
            let set = |all: &[u64]| all.iter().copied().collect::<BTreeSet<u64>>();
            assert_eq!(
                split(&set(open), &set(tags)),
                (set(below), set(others)),
                "{open:?} {tags:?}"
            );
        }
    }
}
