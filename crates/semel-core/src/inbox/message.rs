//! A message as it arrived: written once, never updated.

use bytes::Bytes;

use super::edit::Edit;
use super::work::ErrorText;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::identity::{Identity, Key, PART_BYTES_MAX, checked};
use crate::outcome::{BODY_BYTES_MAX, Headers};

/// The largest sequence number, so that every store can hold one more.
pub const SEQUENCE_MAX: u64 = (1 << 62) - 1;

/// Where a message came from, for people who trace it. Never part of its identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The topic, queue, path or file.
    pub topic: String,
    /// The partition or shard.
    pub partition: Option<i32>,
    /// The offset, line or delivery number.
    pub offset: Option<i64>,
}

/// A message that is about to be received, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    identity: Identity,
    fingerprint: Fingerprint,
    lane: Option<Key>,
    sequence: Option<u64>,
    kind: Option<Box<str>>,
    version: Option<u32>,
    origin: Origin,
    headers: Headers,
    payload: Bytes,
    unreadable: Option<Box<str>>,
    edited: u32,
}

impl Message {
    /// The message of this identity: tenant, consumer, and the id that its producer gave it. Its fingerprint is that of the
    /// payload's bytes unless another is set.
    pub fn new(identity: Identity, payload: impl Into<Bytes>) -> Result<Self> {
        let payload = payload.into();
        if payload.len() > BODY_BYTES_MAX {
            return Err(Error::invalid(format!(
                "a message has at most {BODY_BYTES_MAX} bytes, found {}",
                payload.len()
            )));
        }
        Ok(Self {
            identity,
            fingerprint: Fingerprint::of_bytes(&payload),
            lane: None,
            sequence: None,
            kind: None,
            version: None,
            origin: Origin::default(),
            headers: Headers::default(),
            payload,
            unreadable: None,
            edited: 0,
        })
    }

    /// What is compared when the same id arrives again.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: Fingerprint) -> Self {
        self.fingerprint = fingerprint;
        self
    }

    /// The key that orders it among others: an aggregate, an account, a partition key. What could not be read has none.
    #[must_use]
    pub fn with_lane(mut self, lane: Key) -> Self {
        self.lane = self.unreadable.is_none().then_some(lane);
        self
    }

    /// Its number in its lane: the aggregate's version. What could not be read has none.
    pub fn with_sequence(mut self, sequence: u64) -> Result<Self> {
        if sequence > SEQUENCE_MAX {
            return Err(Error::invalid(format!(
                "a sequence is at most {SEQUENCE_MAX}, found {sequence}"
            )));
        }
        self.sequence = self.unreadable.is_none().then_some(sequence);
        Ok(self)
    }

    /// What kind of event it is, and in which version of its schema.
    pub fn with_kind(mut self, kind: &str, version: Option<u32>) -> Result<Self> {
        self.kind = Some(checked("the event type", kind)?);
        self.version = version;
        Ok(self)
    }

    /// Where it came from.
    pub fn with_origin(mut self, origin: Origin) -> Result<Self> {
        if !origin.topic.is_empty() {
            checked("the topic", &origin.topic)?;
        }
        self.origin = origin;
        Ok(self)
    }

    /// Its headers.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// The same message with its contents in another form: sealed, or opened again. Everything else stays, the fingerprint too.
    #[must_use]
    pub fn with_contents(mut self, headers: Headers, payload: Bytes) -> Self {
        (self.headers, self.payload) = (headers, payload);
        self
    }

    /// Which operation it asks for.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What is compared when the same id arrives again.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The key that orders it among others.
    pub const fn lane(&self) -> Option<&Key> {
        self.lane.as_ref()
    }

    /// Its number in its lane.
    pub const fn sequence(&self) -> Option<u64> {
        self.sequence
    }

    /// What kind of event it is.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The version of its schema.
    pub const fn version(&self) -> Option<u32> {
        self.version
    }

    /// Where it came from.
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Its headers.
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Its payload.
    pub const fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The version of the operator's edit that its payload and headers are from; 0 if they are as they arrived. Only a message that was
    /// claimed says so.
    pub const fn edited(&self) -> u32 {
        self.edited
    }

    /// The same message with the contents of an operator's edit. Its identity, its place and its fingerprint stay, so that a redelivery of
    /// the original is still a duplicate.
    #[must_use]
    pub fn with_edit(mut self, version: u32, edit: Edit) -> Self {
        (self.payload, self.headers) = (edit.payload().clone(), edit.headers().clone());
        self.edited = version;
        self
    }

    /// Why it could not be read, if it is about to be received as such. A message that the inbox gives back does not say so; there the
    /// reason is its error and the detail of its first transition.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// The same message as one that cannot be read or has no id of its own: the inbox stores it PARKED with cause `unreadable` and this reason,
    /// which is bounded as an [`ErrorText`] is. It stands in no lane, so that nothing waits for it. Its identity must follow from
    /// what was delivered (its coordinates, or the hash of its bytes), so that the same delivery is a duplicate.
    #[must_use]
    pub fn as_unreadable(mut self, reason: &str) -> Self {
        (self.lane, self.sequence) = (None, None);
        self.unreadable = Some(ErrorText::new(reason).as_str().into());
        self
    }

    /// The same message under an id of its own, for one whose id was taken by another payload. The same payload
    /// always gets the same id, so a conflict that keeps coming is stored once.
    #[must_use]
    pub fn as_conflict(mut self) -> Self {
        let key = conflict_key(self.identity.key(), self.fingerprint);
        self.identity = Identity::new(
            self.identity.tenant().clone(),
            self.identity.scope().clone(),
            key,
        );
        self
    }
}

fn conflict_key(key: &Key, fingerprint: Fingerprint) -> Key {
    let mark: String = fingerprint.as_bytes()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let suffix = format!("#conflict-{mark}");
    let mut end = key.as_str().len().min(PART_BYTES_MAX - suffix.len());
    while !key.as_str().is_char_boundary(end) {
        end -= 1;
    }
    let text = format!("{}{suffix}", &key.as_str()[..end]);
    Key::new(text).expect("part of a valid key and plain letters are a valid key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::work::ERROR_BYTES_MAX;

    fn message(id: &str, payload: &'static str) -> Message {
        let identity = Identity::parse("public", "mailer@1", id).unwrap();
        Message::new(identity, payload).unwrap()
    }

    #[test]
    fn a_conflict_has_an_id_of_its_own_that_its_payload_decides() {
        let (a, b) = (
            message("evt-1", "a").as_conflict(),
            message("evt-1", "b").as_conflict(),
        );
        assert_ne!(a.identity(), b.identity());
        assert_eq!(a, message("evt-1", "a").as_conflict());
        assert!(a.identity().key().as_str().starts_with("evt-1#conflict-"));
        let long = "é".repeat(127);
        let key = message(&long, "a").as_conflict();
        assert!(key.identity().key().as_str().len() <= PART_BYTES_MAX);
    }

    #[test]
    fn an_edited_message_is_still_compared_by_what_arrived() {
        let arrived = message("1", "{").with_lane(Key::new("account-7").unwrap());
        let edit = Edit::new("{}", Headers::default()).unwrap();
        let edited = arrived.clone().with_edit(2, edit);
        assert_eq!(
            (edited.payload().as_ref(), edited.edited()),
            (&b"{}"[..], 2)
        );
        assert_eq!(edited.fingerprint(), arrived.fingerprint());
        assert_eq!(
            (edited.identity(), edited.lane()),
            (arrived.identity(), arrived.lane())
        );
    }

    #[test]
    fn what_cannot_be_read_has_no_place_in_a_lane() {
        let lane = || Key::new("account-7").unwrap();
        let before = message("1", "{").with_lane(lane()).with_sequence(5);
        let before = before.unwrap().as_unreadable("no id at $.id");
        let after = message("1", "{").as_unreadable("no id at $.id");
        assert_eq!(before, after.with_lane(lane()).with_sequence(5).unwrap());
        assert_eq!((before.lane(), before.sequence()), (None, None));
        assert_eq!(before.unreadable(), Some("no id at $.id"));
        let long = message("1", "").as_unreadable(&"é".repeat(ERROR_BYTES_MAX));
        assert!(long.unreadable().unwrap().len() <= ERROR_BYTES_MAX);
    }

    #[test]
    fn sizes_have_limits() {
        assert!(message("1", "").with_sequence(SEQUENCE_MAX + 1).is_err());
        assert!(message("1", "").with_kind("", None).is_err());
        let identity = Identity::parse("public", "mailer@1", "1").unwrap();
        assert!(Message::new(identity, vec![0; BODY_BYTES_MAX + 1]).is_err());
    }
}
