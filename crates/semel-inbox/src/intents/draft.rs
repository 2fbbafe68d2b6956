//! An intent as a handler asks for it.

use crate::policy::retry::Failure;
use bytes::Bytes;
use serde::Serialize;

/// What a handler wants sent. See [`crate::Ctx::send`].
#[derive(Clone)]
#[must_use]
pub struct Draft {
    pub(super) target: String,
    pub(super) name: String,
    pub(super) payload: Bytes,
    pub(super) headers: Vec<(String, Bytes)>,
    pub(super) id: Option<String>,
    pub(super) key: Option<String>,
}

impl Draft {
    /// Something for the target of this name. The intent's own name is unique among those of its message.
    pub fn new(
        target: impl Into<String>,
        name: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Self {
        Self {
            target: target.into(),
            name: name.into(),
            payload: payload.into(),
            headers: Vec::new(),
            id: None,
            key: None,
        }
    }

    /// The same for a value that is sent as JSON. One that is no JSON is a terminal failure.
    pub fn json(
        target: impl Into<String>,
        name: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<Self, Failure> {
        let json = serde_json::to_vec(value).map_err(Failure::terminal)?;
        Ok(Self::new(target, name, json).header("content-type", "application/json"))
    }

    /// With one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Bytes>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With the key that orders it among others of its target, and that a broker is given as its key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With an id of its own, where the consumer's policy allows that.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl std::fmt::Debug for Draft {
    /// Payloads and header values never reach logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft")
            .field("target", &self.target)
            .field("name", &self.name)
            .field("payload_bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}
