//! The way in: stores messages, all that wait in one call, and says what became of each.

mod quality;
mod repeats;
mod tally;

pub use quality::{Ids, Suspicion};
pub(crate) use repeats::Moves;
pub(crate) use tally::Tally;

use std::sync::{Arc, Mutex, PoisonError};

use crate::policy::Consumer;
use semel_core::inbox::{Arrivals, BATCH_MAX, Message, Progress, Receipt};
use semel_core::{Error, Kind, Result};
use tokio::sync::{mpsc, oneshot};

use crate::engine::{ActiveConsumer, is_settled};
use quality::Quality;

/// How many callers may wait; more wait where they are.
const WAITING_MAX: usize = 1_024;
/// The most bytes that one call brings along, unless a single caller brings more.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// The way in for messages of one consumer. Cheap to clone.
#[derive(Clone)]
pub struct Receiver {
    active: Arc<ActiveConsumer>,
    queue: mpsc::Sender<Waiting>,
    quality: Arc<Mutex<Quality>>,
}

struct Waiting {
    messages: Vec<Message>,
    caller: oneshot::Sender<Result<Vec<Receipt>>>,
}

impl Receiver {
    pub(crate) fn start(active: Arc<ActiveConsumer>) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let quality: Arc<Mutex<Quality>> = Arc::default();
        let intake = Intake {
            active: active.clone(),
            quality: quality.clone(),
        };
        // It ends when the last receiver is dropped, so that whoever still holds one is served to the end.
        tokio::spawn(intake.run(waiting));
        Self {
            active,
            queue,
            quality,
        }
    }

    /// The consumer's policy.
    pub fn consumer(&self) -> &Arc<Consumer> {
        &self.active.policy
    }

    /// Whether the consumer has so much to do that senders are asked to come back later.
    pub fn is_full(&self) -> bool {
        self.active.backlog.is_full()
    }

    /// Stores a message, together with others that arrive at the same time. It is durable when this returns; an error means that nothing
    /// can be said, and that the sender must not be told that it was taken.
    pub async fn receive(&self, message: Message) -> Result<Receipt> {
        let mut receipts = self.receive_all(vec![message]).await?;
        receipts
            .pop()
            .ok_or_else(|| Error::new(Kind::Internal, "the store gave no receipt for a message"))
    }

    /// The same for messages that belong together: all are stored, or nothing can be said about any.
    pub async fn receive_all(&self, messages: Vec<Message>) -> Result<Vec<Receipt>> {
        self.check(&messages)?;
        let (caller, answer) = oneshot::channel();
        let waiting = Waiting { messages, caller };
        let gone = |()| Error::new(Kind::Unavailable, "the inbox is closed");
        let sent = self.queue.send(waiting).await;
        sent.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))?
    }

    /// Stores messages together with how far their source has come.
    pub(crate) async fn receive_to(
        &self,
        messages: Vec<Message>,
        positions: Vec<Progress>,
    ) -> Result<Vec<Receipt>> {
        if positions.is_empty() {
            return self.receive_all(messages).await;
        }
        self.check(&messages)?;
        let arrivals = Arrivals {
            plan: self.active.policy.plan.clone(),
            messages: messages.clone(),
            positions,
        };
        let receipts = self.active.shared.inbox.receive(arrivals).await?;
        tell(&self.active, &self.quality, &messages, &receipts);
        Ok(receipts)
    }

    fn check(&self, messages: &[Message]) -> Result<()> {
        let name = self.active.policy.name();
        if messages.len() > BATCH_MAX {
            return Err(Error::new(
                Kind::Limit,
                format!(
                    "at most {BATCH_MAX} messages are received together, found {}",
                    messages.len()
                ),
            ));
        }
        match messages
            .iter()
            .find(|message| message.identity().scope() != name)
        {
            Some(other) => Err(Error::invalid(format!(
                "expected messages of consumer {name}, found one of {}",
                other.identity().scope()
            ))),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receiver({})", self.active.policy.name())
    }
}

/// The task behind a receiver.
struct Intake {
    active: Arc<ActiveConsumer>,
    quality: Arc<Mutex<Quality>>,
}

impl Intake {
    async fn run(self, mut queue: mpsc::Receiver<Waiting>) {
        let mut held = None;
        loop {
            let first = match held.take() {
                Some(waiting) => waiting,
                None => match queue.recv().await {
                    Some(waiting) => waiting,
                    None => return,
                },
            };
            let (mut count, mut bytes) = weight(&first);
            let mut batch = vec![first];
            while let Ok(next) = queue.try_recv() {
                let (more, heavier) = weight(&next);
                (count, bytes) = (count + more, bytes + heavier);
                if count > BATCH_MAX || bytes > BYTES_MAX {
                    held = Some(next);
                    break;
                }
                batch.push(next);
            }
            self.receive(batch).await;
        }
    }

    /// Stores a batch. If one caller's messages are refused, the others do not suffer for it: each half is offered by itself, until what is refused is
    /// alone.
    async fn receive(&self, mut batch: Vec<Waiting>) {
        let all = batch.iter().flat_map(|waiting| waiting.messages.clone());
        let messages: Vec<Message> = all.collect();
        match self.store(messages).await {
            Ok(mut receipts) => {
                for waiting in batch {
                    let rest = receipts.split_off(waiting.messages.len().min(receipts.len()));
                    // A caller that went away learns nothing.
                    let _ = waiting
                        .caller
                        .send(Ok(std::mem::replace(&mut receipts, rest)));
                }
            }
            Err(error) if batch.len() > 1 && may_be_a_caller(&error) => {
                let rest = batch.split_off(batch.len() / 2);
                Box::pin(self.receive(batch)).await;
                Box::pin(self.receive(rest)).await;
            }
            Err(error) => {
                for waiting in batch {
                    let _ = waiting.caller.send(Err(error.duplicate()));
                }
            }
        }
    }

    async fn store(&self, messages: Vec<Message>) -> Result<Vec<Receipt>> {
        let arrivals = Arrivals {
            plan: self.active.policy.plan.clone(),
            messages: messages.clone(),
            positions: Vec::new(),
        };
        let receipts = self.active.shared.inbox.receive(arrivals).await?;
        tell(&self.active, &self.quality, &messages, &receipts);
        Ok(receipts)
    }
}

/// Whether an error may be about the messages of one caller, rather than about the store.
const fn may_be_a_caller(error: &Error) -> bool {
    error.is_about_an_item() || !error.is_retryable()
}

fn weight(waiting: &Waiting) -> (usize, usize) {
    let payloads = waiting.messages.iter();
    let bytes = payloads.map(|message| message.payload().len()).sum();
    (waiting.messages.len(), bytes)
}

/// Tells whoever measures, and whoever waits.
fn tell(
    active: &ActiveConsumer,
    quality: &Mutex<Quality>,
    messages: &[Message],
    receipts: &[Receipt],
) {
    // What is remembered of ids only serves a warning, so a poisoned lock protects nothing.
    let mut quality = quality.lock().unwrap_or_else(PoisonError::into_inner);
    for (message, receipt) in messages.iter().zip(receipts) {
        if let Some(suspicion) = quality.look(message, *receipt) {
            let reason = suspicion.reason();
            active.shared.watch.id_suspected(message, reason);
        }
        active.tally.count(*receipt);
        if matches!(receipt, Receipt::Stored { state } if !is_settled(*state)) {
            active.backlog.add(1);
        }
        active.shared.watch.received(message, *receipt);
        if let Receipt::Duplicate { state, first } = receipt {
            let known = (*state, *first);
            let found = repeats::duplicate(&active.policy, &active.moves, message, known);
            active.shared.watch.duplicate(&found);
        }
    }
}
