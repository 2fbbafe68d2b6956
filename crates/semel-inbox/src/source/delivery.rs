//! What a source delivers.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use semel_core::Timestamp;
use semel_core::inbox::Origin;

use super::event::Partition;

/// A header: brokers repeat names, send any bytes, and some of them send no value at all.
pub type HeaderField = (String, Option<Bytes>);

/// The raw parts of a message. What is set here is what the source itself knows; a [`super::Rule`] may find more in headers and payload.
#[derive(Clone, Default)]
pub struct Raw {
    /// The id under which the broker itself deduplicates, or the producer's.
    pub id: Option<String>,
    /// On whose behalf.
    pub tenant: Option<String>,
    /// What kind of event it is.
    pub kind: Option<String>,
    /// The version of its schema.
    pub version: Option<u32>,
    /// The key that orders it, as text; if there is none, [`Raw::key`] orders it.
    pub lane: Option<String>,
    /// The broker's key as it is: any bytes.
    pub key: Option<Bytes>,
    /// Its number under that key.
    pub sequence: Option<u64>,
    /// Its headers, in their order.
    pub headers: Vec<HeaderField>,
    /// Whether a CloudEvent's attributes in the headers are percent-encoded: in HTTP and NATS they are, in AMQP and Kafka they are not.
    pub is_percent_encoded: bool,
    /// Its payload; none is another thing than an empty one, as in a compacted topic.
    pub payload: Option<Bytes>,
    /// Where it came from.
    pub origin: Origin,
    /// Where it came from in the broker's own words, unique for ever: with the id of a topic rather than its name, so that one that was made anew
    /// has others.
    pub coordinates: Option<String>,
    /// How often the broker has delivered it, this time counted.
    pub deliveries: Option<u32>,
    /// When it was published.
    pub published_at: Option<Timestamp>,
    /// Why it cannot be read, if the source has seen that already; it is parked as `unreadable`.
    pub unreadable: Option<String>,
    /// Whether it is one event of a batch: its headers, the broker's id and its coordinates are the batch's then, and identify no event.
    pub is_batched: bool,
}

impl Raw {
    /// The first header of this name, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.values(name).next()?)
            .ok()
            .map(str::trim)
    }

    /// What the headers of this name say, without those that have no value.
    pub(crate) fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Bytes> {
        let found = self.headers.iter();
        found
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .filter_map(|(_, value)| value.as_ref())
    }

    /// What may identify it: of an event of a batch not what the batch came with.
    pub(crate) fn identifying(&self) -> Cow<'_, Self> {
        match self.is_batched {
            false => Cow::Borrowed(self),
            true => Cow::Owned(Self {
                payload: self.payload.clone(),
                ..Self::default()
            }),
        }
    }

    /// The bytes of the payload; of none there are none.
    pub(crate) fn body(&self) -> &[u8] {
        self.payload.as_deref().unwrap_or_default()
    }

    /// How much room it takes.
    pub fn bytes(&self) -> usize {
        let value = |value: &Option<Bytes>| value.as_ref().map_or(0, Bytes::len);
        let headers = self.headers.iter();
        let headers: usize = headers.map(|(name, field)| name.len() + value(field)).sum();
        headers + value(&self.payload) + value(&self.key)
    }

    /// The media type, without parameters and in lower case.
    pub(crate) fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        let media = value.split(';').next().unwrap_or_default();
        Some(media.trim().to_ascii_lowercase())
    }
}

impl std::fmt::Debug for Raw {
    /// Payloads and header values never reach logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raw")
            .field("id", &self.id)
            .field("origin", &self.origin)
            .field("payload_bytes", &self.payload.as_ref().map(Bytes::len))
            .finish_non_exhaustive()
    }
}

/// What only the source understands: an offset, a receipt, a tag.
#[derive(Clone)]
pub struct Handle(Arc<dyn Any + Send + Sync>);

impl Handle {
    /// A handle with this inside.
    pub fn new(inside: impl Any + Send + Sync) -> Self {
        Self(Arc::new(inside))
    }

    /// What is inside, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

/// One delivery.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What was delivered.
    pub raw: Raw,
    /// What the source wants back with its answer.
    pub handle: Handle,
    /// With what it is lost.
    pub partition: Partition,
}
