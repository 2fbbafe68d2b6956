//! A broker in memory that can do everything, and can be told to do one thing wrong.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use semel_core::Inbox;
use semel_core::inbox::Origin;
use semel_core::store::Answer;
use semel_inbox::Source;
use semel_inbox::source::{
    Batch, Delivery, Event, Facts, Handle, Partition, Raw, Settle, Settled, SourceLease, Want,
};
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::sources::{Ability, Broker, Doing, Published, Subject};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// How long a delivery stays open without a word.
const TERM: Duration = Duration::from_secs(2);

/// What a broker or its source does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// A delivery is gone as soon as it was handed out.
    AcksOnDelivery,
    /// An acknowledgement counts for everything before it.
    AcksPassHoles,
    /// A call that is dropped takes along what it had taken.
    CancelLoses,
    IgnoresCount,
    IgnoresBytes,
    WantsAreIgnored,
    ForgetsNulls,
    ForgetsRepeats,
    KeysAreText,
    Reverses,
    CoordinatesRepeat,
    ExtendDoesNothing,
    LateAcksCount,
    BacksAreAcks,
    OneBadHandleFailsAll,
    AcksAreForgotten,
    LagIsZero,
    AcksUnreadableNever,
}

/// One queue.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Entry>,
    open: Vec<(u64, Instant, Entry)>,
    receipts: u64,
    offset: u64,
    epoch: u64,
}

#[derive(Clone)]
struct Entry {
    place: u64,
    message: Published,
    deliveries: u32,
    coordinates: String,
}

pub(crate) struct Memory {
    queue: Arc<Mutex<Queue>>,
    bug: Bug,
    dir: TempDir,
}

struct MemorySource {
    queue: Arc<Mutex<Queue>>,
    bug: Bug,
}

pub(crate) fn fresh(bug: Bug) -> Subject {
    Subject::new(Memory {
        queue: Arc::default(),
        bug,
        dir: tempfile::tempdir().expect("a directory for the inbox"),
    })
}

impl Broker for Memory {
    fn abilities(&self) -> &[Ability] {
        &[
            Ability::RepeatedHeaders,
            Ability::NullHeaders,
            Ability::NullPayloads,
            Ability::BinaryKeys,
            Ability::Order,
            Ability::Coordinates,
            Ability::Extend,
            Ability::Expiry,
            Ability::LateAnswers,
            Ability::GiveBack,
            Ability::Lag,
        ]
    }

    fn publish(&self, messages: Vec<Published>) -> Doing<'_, ()> {
        let mut queue = lock(&self.queue);
        for message in messages {
            queue.offset += 1;
            let (place, epoch) = (queue.offset, queue.epoch);
            let entry = Entry {
                place,
                message,
                deliveries: 0,
                coordinates: format!("{epoch}/{place}"),
            };
            match self.bug {
                Bug::Reverses => queue.waiting.push_front(entry),
                _ => queue.waiting.push_back(entry),
            }
        }
        Box::pin(async {})
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::new(MemorySource {
            queue: self.queue.clone(),
            bug: self.bug,
        })
    }

    fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 1).into()
    }

    fn term(&self) -> Duration {
        TERM
    }

    fn recreate(&self) -> Doing<'_, ()> {
        let mut queue = lock(&self.queue);
        let epoch = queue.epoch + u64::from(self.bug != Bug::CoordinatesRepeat);
        *queue = Queue {
            epoch,
            receipts: queue.receipts,
            ..Queue::default()
        };
        Box::pin(async {})
    }

    fn inbox(&self) -> Arc<dyn Inbox> {
        let store: SqliteStore = Config::new(self.dir.path().join("semel.db"))
            .open()
            .expect("an inbox can be made");
        Arc::new(store)
    }
}

impl MemorySource {
    fn take(&self, want: Want) -> Vec<Delivery> {
        let mut queue = lock(&self.queue);
        queue.expire();
        let (mut all, mut bytes) = (Vec::new(), 0);
        while let Some(mut entry) = queue.waiting.pop_front() {
            entry.deliveries += 1;
            let raw = self.raw(&entry);
            let size = raw.bytes();
            let bounds = match self.bug {
                Bug::IgnoresCount if want.count > 0 => Want {
                    count: usize::MAX,
                    ..want
                },
                Bug::IgnoresBytes => Want {
                    bytes: usize::MAX,
                    ..want
                },
                Bug::WantsAreIgnored => Want {
                    count: want.count.max(1),
                    ..want
                },
                _ => want,
            };
            if bounds.is_met(all.len(), bytes, size) {
                entry.deliveries -= 1;
                queue.waiting.push_front(entry);
                break;
            }
            bytes += size;
            queue.receipts += 1;
            let receipt = queue.receipts;
            if self.bug != Bug::AcksOnDelivery {
                queue.open.push((receipt, Instant::now() + TERM, entry));
            }
            all.push(Delivery {
                raw,
                handle: Handle::new(receipt),
                partition: Partition::default(),
            });
        }
        all
    }

    fn raw(&self, entry: &Entry) -> Raw {
        let Published {
            id,
            key,
            mut headers,
            mut payload,
        } = entry.message.clone();
        if self.bug == Bug::ForgetsNulls {
            payload.get_or_insert_default();
            headers.iter_mut().for_each(|(_, value)| {
                value.get_or_insert_default();
            });
        }
        if self.bug == Bug::ForgetsRepeats {
            headers.dedup_by(|(a, _), (b, _)| a == b);
        }
        if !id.is_empty() {
            headers.push(("message-id".to_owned(), Some(id.into())));
        }
        let text = |key: bytes::Bytes| String::from_utf8_lossy(&key).into_owned().into();
        Raw {
            key: match self.bug {
                Bug::KeysAreText => key.map(text),
                _ => key,
            },
            headers,
            payload,
            origin: Origin {
                topic: "memory".into(),
                ..Origin::default()
            },
            coordinates: Some(entry.coordinates.clone()),
            deliveries: Some(entry.deliveries),
            ..Raw::default()
        }
    }

    fn settle_one(&self, handle: &Handle, how: Settle) -> Settled {
        let Some(receipt) = handle.get::<u64>() else {
            return Settled::Gone;
        };
        let mut queue = lock(&self.queue);
        let late = self.bug == Bug::LateAcksCount;
        if !late {
            queue.expire();
        }
        let place = queue.open.iter().position(|(known, _, _)| known == receipt);
        let Some(place) = place else {
            return match late || self.bug == Bug::AcksOnDelivery {
                true => Settled::Done,
                false => Settled::Gone,
            };
        };
        match how {
            Settle::Ack if self.bug == Bug::AcksAreForgotten => {}
            Settle::Ack if self.is_unreadable(&queue.open[place].2) => {}
            Settle::Ack => {
                let (_, _, done) = queue.open.remove(place);
                if self.bug == Bug::AcksPassHoles {
                    queue.open.retain(|(_, _, entry)| entry.place > done.place);
                }
            }
            Settle::Extend if self.bug == Bug::ExtendDoesNothing => {}
            Settle::Extend => queue.open[place].1 = Instant::now() + TERM,
            _ => {
                let (_, _, entry) = queue.open.remove(place);
                if self.bug != Bug::BacksAreAcks {
                    queue.waiting.push_front(entry);
                }
            }
        }
        Settled::Done
    }

    fn is_unreadable(&self, entry: &Entry) -> bool {
        self.bug == Bug::AcksUnreadableNever && entry.message.id.is_empty()
    }
}

impl Queue {
    fn expire(&mut self) {
        let now = Instant::now();
        let (open, over) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(_, until, _)| *until > now);
        self.open = open;
        let over: Vec<(u64, Instant, Entry)> = over;
        for (_, _, entry) in over.into_iter().rev() {
            self.waiting.push_front(entry);
        }
    }
}

impl Source for MemorySource {
    fn name(&self) -> &str {
        "memory"
    }

    fn lease(&self) -> Option<SourceLease> {
        Some(SourceLease::extendable(TERM))
    }

    fn open(&self, _: Vec<(Partition, String)>) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            loop {
                let found = self.take(want);
                if self.bug == Bug::CancelLoses {
                    sleep(Duration::from_millis(3)).await;
                }
                if !found.is_empty() {
                    return Ok(Event::Batch(Batch::of(found)));
                }
                sleep(Duration::from_millis(10)).await;
            }
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        let is_bad = |(handle, _): &(Handle, Settle)| handle.get::<u64>().is_none();
        let settled = match self.bug == Bug::OneBadHandleFailsAll && items.iter().any(is_bad) {
            true => vec![Settled::Gone; items.len()],
            false => {
                let all = items.iter();
                all.map(|(handle, how)| self.settle_one(handle, *how))
                    .collect()
            }
        };
        Box::pin(async { Ok(settled) })
    }

    fn facts(&self) -> Answer<'_, Facts> {
        let waiting = lock(&self.queue).waiting.len() as u64;
        let mut facts = Facts::default();
        facts.lag = Some(match self.bug {
            Bug::LagIsZero => 0,
            _ => waiting,
        });
        Box::pin(async { Ok(facts) })
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().expect("no test panics here")
}
