//! Which parts of outcomes and messages are sealed, and how they come back.
//!
//! All headers become one, [`SEALED`], which no response can have. It also says whether the body is sealed, so that nothing that a service or a
//! sender makes up is taken for a sealed text.

use bytes::Bytes;
use semel_core::inbox::{Edit, Job, Message};
use semel_core::outcome::{BODY_BYTES_MAX, HEADER_BYTES_MAX, LOCKED, SEALED};
use semel_core::{Body, Error, Headers, Identity, Kind, Outcome, Result};

use crate::cipher::{DataKey, OVERHEAD, Purpose, is_sealed, key_of, place};
use crate::found::{Found, locked};

/// What stands in front of the headers in their sealed text.
const KEPT: u8 = 0;
const OMITTED: u8 = 1;
const DIGEST_BYTES: usize = 32;

/// Why sealed contents stay closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The tenant's key was destroyed.
    Forgotten,
    /// This process lacks the key-encryption key of this name.
    Locked(String),
    /// The text does not open with its own key, or says nothing that can be read.
    Damaged,
}

impl Closed {
    /// For people who look at a record.
    fn told(&self) -> String {
        match self {
            Self::Forgotten => "the tenant's data key was destroyed".to_owned(),
            Self::Locked(kek) => format!("needs the key {kek} of encryption.keys"),
            Self::Damaged => "does not open with its own key".to_owned(),
        }
    }

    /// For callers, whom what is left of a record would mislead; `None` where it says all that there still is.
    pub(crate) fn error(&self) -> Option<Error> {
        match self {
            Self::Forgotten => None,
            Self::Locked(kek) => Some(locked(kek)),
            Self::Damaged => {
                let message = "a sealed text does not open with its own key";
                Some(Error::new(Kind::Damaged, message))
            }
        }
    }
}

/// What became of a sealed text.
pub(crate) type Opened<T> = Result<T, Closed>;

/// A sealed text in its place.
fn open(found: &Found, place: &[u8], sealed: &[u8]) -> Opened<Bytes> {
    let id = key_of(sealed).ok_or(Closed::Damaged)?;
    match (found.key(id), found.locked(id)) {
        (Some(key), _) => {
            let text = key.open(place, sealed).ok_or(Closed::Damaged)?;
            Ok(text.into())
        }
        (None, Some(kek)) => Err(Closed::Locked(kek.to_owned())),
        (None, None) => Err(Closed::Forgotten),
    }
}

fn decoded(headers: &[u8]) -> Opened<Headers> {
    Headers::decode(headers).map_err(|_| Closed::Damaged)
}

fn of_identity(identity: &Identity, purpose: Purpose) -> Vec<u8> {
    place(purpose, identity.digest().as_bytes())
}

/// A message's place: a conflict gets an id of its own after it was sealed, so its fingerprint stands for it.
fn of_message(message: &Message, purpose: Purpose) -> Vec<u8> {
    let identity = message.identity();
    let mut hasher = blake3::Hasher::new_derive_key("semel-seal 2026-11 place of a message");
    for part in [identity.tenant().as_str(), &identity.scope().to_string()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(message.fingerprint().as_bytes());
    place(purpose, hasher.finalize().as_bytes())
}

/// All headers as one. Those that would not fit any more, the largest first, are left out: an effect has happened, and a record without one of
/// its headers is better than none.
fn sealed_headers(key: &DataKey, place: &[u8], front: &[u8], headers: &Headers) -> Headers {
    let room = HEADER_BYTES_MAX - SEALED.len() - OVERHEAD - 1 - DIGEST_BYTES;
    let fields = headers
        .iter()
        .map(|(name, value)| (name.to_owned(), value.clone()));
    let mut fields: Vec<(String, Bytes)> = fields.collect();
    let size = |fields: &[(String, Bytes)]| -> usize {
        fields
            .iter()
            .map(|(name, value)| name.len() + value.len() + 8)
            .sum()
    };
    while size(&fields) > room {
        let largest = (0..fields.len()).max_by_key(|at| fields[*at].1.len());
        fields.remove(largest.expect("no fields have no size"));
    }
    let headers = Headers::new(fields).expect("some of the headers are within the limits of all");
    let text = [front, &headers.encode()].concat();
    one(SEALED, key.seal(place, &text).into())
}

fn one(name: &str, value: Bytes) -> Headers {
    let fields = vec![(name.to_owned(), value)];
    Headers::new(fields).expect("one header of bounded length is within the limits")
}

/// The sealed headers, if these stand for some.
fn mark(headers: &Headers) -> Option<&Bytes> {
    let mut fields = headers.iter();
    fields.find_map(|(name, value)| (name == SEALED).then_some(value))
}

/// The name of a sender's header that is called as ours.
const RENAMED: &str = "sealed";

/// The same headers with other names for those that a sender calls as ours, so that they are not taken for ours; `None` if there are none.
fn renamed(headers: &Headers) -> Option<Headers> {
    let is_ours = |name: &str| name == SEALED || name == LOCKED;
    if !headers.iter().any(|(name, _)| is_ours(name)) {
        return None;
    }
    let field = |(name, value): (&str, &Bytes)| {
        let name = if is_ours(name) { RENAMED } else { name };
        (name.to_owned(), value.clone())
    };
    let fields = headers.iter().map(field).collect();
    Some(Headers::new(fields).expect("a shorter name takes less room"))
}

/// An outcome as the store may see it: verdict, status and length.
pub(crate) fn seal_outcome(key: &DataKey, identity: &Identity, outcome: Outcome) -> Outcome {
    let outcome = plain_outcome(outcome);
    if outcome.headers.is_empty() && outcome.body.is_empty() {
        return outcome;
    }
    let body = match outcome.body {
        // There is no room for the seal any more.
        Body::Kept(bytes) if bytes.len() > BODY_BYTES_MAX - OVERHEAD => Body::omitted(&bytes),
        body => body,
    };
    let (front, body) = match body {
        Body::Kept(bytes) => {
            let place = of_identity(identity, Purpose::OutcomeBody);
            let sealed = key.seal(&place, &bytes).into();
            (vec![KEPT], Body::Kept(sealed))
        }
        Body::Omitted { len, digest } => {
            let digest = digest.unwrap_or_default();
            let front = [[OMITTED].as_slice(), &digest].concat();
            let digest = Some(key.digest(&digest));
            (front, Body::Omitted { len, digest })
        }
    };
    let place = of_identity(identity, Purpose::OutcomeHeaders);
    let headers = sealed_headers(key, &place, &front, &outcome.headers);
    Outcome {
        headers,
        body,
        ..outcome
    }
}

/// An outcome that is not sealed, as the store may see it.
pub(crate) fn plain_outcome(outcome: Outcome) -> Outcome {
    match renamed(&outcome.headers) {
        Some(headers) => Outcome { headers, ..outcome },
        None => outcome,
    }
}

/// An outcome as it was. Lists leave the bodies out; then the length is as it was.
pub(crate) fn open_outcome(
    found: &Found,
    identity: &Identity,
    outcome: &Outcome,
) -> Opened<Outcome> {
    let Some(mark) = mark(&outcome.headers) else {
        return Ok(outcome.clone());
    };
    let text = open(found, &of_identity(identity, Purpose::OutcomeHeaders), mark)?;
    let (front, rest) = text.split_first().ok_or(Closed::Damaged)?;
    let (body, rest) = match (*front, &outcome.body) {
        (OMITTED, body) => {
            let cut = rest.split_first_chunk::<DIGEST_BYTES>();
            let (digest, rest) = cut.ok_or(Closed::Damaged)?;
            let digest = body.digest().map(|_| *digest);
            let len = body.len();
            (Body::Omitted { len, digest }, rest)
        }
        (_, Body::Omitted { len, digest }) => {
            let len = len.saturating_sub(OVERHEAD as u64);
            let digest = *digest;
            (Body::Omitted { len, digest }, rest)
        }
        (_, Body::Kept(sealed)) => {
            let place = of_identity(identity, Purpose::OutcomeBody);
            (Body::Kept(open(found, &place, sealed)?), rest)
        }
    };
    Ok(Outcome {
        headers: decoded(rest)?,
        body,
        ..outcome.clone()
    })
}

/// What is left of an outcome that stays closed: a replay of one that was erased says that its body is not kept.
pub(crate) fn closed_outcome(outcome: &Outcome, closed: &Closed) -> Outcome {
    let len = match outcome.body.kept() {
        Some(sealed) => sealed.len().saturating_sub(OVERHEAD) as u64,
        None => outcome.body.len(),
    };
    let name = match closed {
        Closed::Forgotten => SEALED,
        Closed::Locked(_) | Closed::Damaged => LOCKED,
    };
    Outcome {
        headers: one(name, closed.told().into()),
        body: Body::Omitted { len, digest: None },
        ..outcome.clone()
    }
}

/// Payload and headers of a message, each in its place.
struct Places {
    payload: Vec<u8>,
    headers: Vec<u8>,
}

impl Places {
    fn of(message: &Message) -> Self {
        // An edit is made by id; what arrived knows its fingerprint, and a conflict gets its id later.
        match message.edited() {
            0 => Self {
                payload: of_message(message, Purpose::Payload),
                headers: of_message(message, Purpose::MessageHeaders),
            },
            _ => Self::of_edit(message.identity()),
        }
    }

    fn of_edit(identity: &Identity) -> Self {
        Self {
            payload: of_identity(identity, Purpose::EditedPayload),
            headers: of_identity(identity, Purpose::EditedHeaders),
        }
    }

    fn seal(&self, key: &DataKey, headers: &Headers, payload: &Bytes) -> (Headers, Bytes) {
        if headers.is_empty() && payload.is_empty() {
            return (headers.clone(), payload.clone());
        }
        let payload = key.seal(&self.payload, payload).into();
        let headers = sealed_headers(key, &self.headers, &[KEPT], headers);
        (headers, payload)
    }

    fn open(&self, found: &Found, headers: &Headers, payload: &Bytes) -> Opened<(Headers, Bytes)> {
        // What a sender called as ours, before that was renamed, stands for nothing.
        let is_meant = |mark: &&Bytes| is_sealed(mark) || is_sealed(payload);
        let Some(mark) = mark(headers).filter(is_meant) else {
            return Ok((headers.clone(), payload.clone()));
        };
        let headers = open(found, &self.headers, mark)?;
        let payload = open(found, &self.payload, payload)?;
        let headers = decoded(headers.get(1..).unwrap_or_default())?;
        Ok((headers, payload))
    }
}

/// The longest payload that has room for its seal.
const PAYLOAD_BYTES_MAX: usize = BODY_BYTES_MAX - OVERHEAD;

/// A message as the store may see it. One that is too long for its seal is cut off and kept as one that cannot be read: refused, it would come again for ever.
pub(crate) fn seal_message(key: &DataKey, message: Message) -> Message {
    let message = match message.payload().len() {
        found if found > PAYLOAD_BYTES_MAX => {
            let reason = format!(
                "a payload that is sealed has at most {PAYLOAD_BYTES_MAX} bytes, found {found}; the rest was cut off"
            );
            let (headers, payload) = (message.headers().clone(), message.payload());
            let payload = payload.slice(..PAYLOAD_BYTES_MAX);
            let cut = message.with_contents(headers, payload);
            cut.as_unreadable(&reason)
        }
        _ => message,
    };
    let message = plain_message(message);
    let places = Places::of(&message);
    let (headers, payload) = places.seal(key, message.headers(), message.payload());
    message.with_contents(headers, payload)
}

/// A message that is not sealed, as the store may see it.
pub(crate) fn plain_message(message: Message) -> Message {
    match renamed(message.headers()) {
        Some(headers) => message.with_headers(headers),
        None => message,
    }
}

/// A message as it was, or as an operator made it.
pub(crate) fn open_message(found: &Found, message: &Message) -> Opened<Message> {
    let (headers, payload) =
        Places::of(message).open(found, message.headers(), message.payload())?;
    Ok(message.clone().with_contents(headers, payload))
}

/// What an operator makes of a message, as the store may see it.
pub(crate) fn seal_edit(key: &DataKey, identity: &Identity, edit: &Edit) -> Result<Edit> {
    let (max, found) = (PAYLOAD_BYTES_MAX, edit.payload().len());
    if found > max {
        let message = format!("a payload that is sealed has at most {max} bytes, found {found}");
        return Err(Error::invalid(message));
    }
    let edit = plain_edit(edit)?;
    let (headers, payload) = Places::of_edit(identity).seal(key, edit.headers(), edit.payload());
    Edit::new(payload, headers)
}

/// What an operator makes of a message where nothing is sealed.
pub(crate) fn plain_edit(edit: &Edit) -> Result<Edit> {
    let headers = renamed(edit.headers());
    let headers = headers.unwrap_or_else(|| edit.headers().clone());
    Edit::new(edit.payload().clone(), headers)
}

/// What an operator made of a message.
pub(crate) fn open_edit(found: &Found, identity: &Identity, edit: &Edit) -> Opened<Edit> {
    let opened = Places::of_edit(identity).open(found, edit.headers(), edit.payload())?;
    let (headers, payload) = opened;
    Edit::new(payload, headers).map_err(|_| Closed::Damaged)
}

/// Bytes that belong to a message: the result of a step, the answer of a handler.
pub(crate) fn seal_bytes(
    key: &DataKey,
    purpose: Purpose,
    identity: &Identity,
    bytes: &[u8],
) -> Bytes {
    key.seal(&of_identity(identity, purpose), bytes).into()
}

/// The same bytes again; those that are plain stay as they are.
pub(crate) fn open_bytes(
    found: &Found,
    purpose: Purpose,
    identity: &Identity,
    bytes: &Bytes,
) -> Opened<Bytes> {
    match is_sealed(bytes) {
        true => open(found, &of_identity(identity, purpose), bytes),
        false => Ok(bytes.clone()),
    }
}

/// Whether any part of a claimed message is sealed.
pub(crate) fn has_sealed(job: &Job) -> bool {
    let mut results = job.steps.iter().map(|step| &step.result);
    job.message.headers().are_sealed() || results.any(|result| is_sealed(result))
}
