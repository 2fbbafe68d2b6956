//! What a source delivers.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use semel_core::inbox::Origin;

/// The raw parts of a message. What is set here is what the source itself knows; a [`super::Rule`] may find more in headers and payload.
#[derive(Clone, Default)]
pub struct Raw {
    /// The producer's id.
    pub id: Option<String>,
    /// On whose behalf.
    pub tenant: Option<String>,
    /// What kind of event it is.
    pub kind: Option<String>,
    /// The version of its schema.
    pub version: Option<u32>,
    /// The key that orders it.
    pub lane: Option<String>,
    /// Its number under that key.
    pub sequence: Option<u64>,
    /// Its headers, in their order.
    pub headers: Vec<(String, Bytes)>,
    /// Its payload.
    pub payload: Bytes,
    /// Where it came from.
    pub origin: Origin,
}

impl Raw {
    /// The first header of this name, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter();
        let mut found = found.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        std::str::from_utf8(&found.next()?.1).ok().map(str::trim)
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
            .field("payload_bytes", &self.payload.len())
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
}

/// What a source delivers at once.
#[derive(Debug, Default)]
pub struct Batch {
    /// The deliveries, in their order.
    pub deliveries: Vec<Delivery>,
    /// How far the source has come with them; it is kept in the store together with the messages.
    pub position: Option<String>,
    /// Whether this is the end: nothing more will come.
    pub end: bool,
}
