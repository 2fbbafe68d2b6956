//! Where intents are published that are not sent over HTTP: topics, queues, subjects, streams.

use std::pin::Pin;

use bytes::Bytes;

use semel_core::inbox::Message;

use crate::source::{HeaderField, Notes};

/// A message that is to be published.
#[derive(Clone)]
pub struct Outgoing {
    /// Its id, the same over attempts, crashes and replays: what the broker deduplicates by, where it does, and what readers recognise it by.
    pub id: String,
    /// The key that orders it among others.
    pub key: Option<Bytes>,
    /// What kind of message it is.
    pub kind: Option<String>,
    /// Its headers, in their order; the id is not among them.
    pub headers: Vec<HeaderField>,
    /// Its payload; none is another thing than an empty one.
    pub payload: Option<Bytes>,
}

impl Outgoing {
    /// The message of an intent, as a broker is given it.
    pub fn of(message: &Message, id: &str) -> Self {
        let notes = Notes::of(message.headers());
        let own = notes.headers.into_iter();
        let own = own.filter(|(name, _)| !name.to_ascii_lowercase().starts_with("semel-"));
        let lane = message.lane().map(|lane| lane.as_str().to_owned().into());
        Self {
            id: id.to_owned(),
            key: notes.key.or(lane),
            kind: message.kind().map(str::to_owned),
            headers: own.collect(),
            payload: (!notes.is_tombstone).then(|| message.payload().clone()),
        }
    }
}

impl std::fmt::Debug for Outgoing {
    /// Payloads and header values never reach logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing")
            .field("id", &self.id)
            .field("payload_bytes", &self.payload.as_ref().map(Bytes::len))
            .finish_non_exhaustive()
    }
}

/// What became of a message that was to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sent {
    /// The broker has it, durably as far as it promises that, at this place.
    Done(String),
    /// It certainly did not reach the broker; it is tried again, and the attempt does not count.
    NotSent(String),
    /// The broker said no, and will say so again.
    Refused(String),
    /// It may have reached the broker: the target's policy decides.
    Unknown(String),
}

/// What [`Outlet::send`] gives.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Vec<Sent>> + Send + 'a>>;

/// A topic, queue, subject or stream that intents are published to.
///
/// Every message carries its id where readers find it: as the header `message-id`, and where the broker deduplicates, as the broker wants it.
pub trait Outlet: Send + Sync + 'static {
    /// Its name, for people; no secrets.
    fn name(&self) -> &str;

    /// Publishes messages, each by itself: the same number of results in the same order. Messages of one call with the same key are published in
    /// their order, and none after one of its key that failed. A call that is dropped may have published any of them.
    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_>;
}
