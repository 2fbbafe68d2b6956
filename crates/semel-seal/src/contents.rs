//! Which parts of outcomes and messages are sealed, and how they come back.
//!
//! All headers become one, [`SEALED`], which no response can have. It also says whether the body is sealed, so that nothing that a service or a
//! sender makes up is taken for a sealed text.

use bytes::Bytes;
use semel_core::inbox::{Edit, Message};
use semel_core::outcome::{BODY_BYTES_MAX, HEADER_BYTES_MAX, SEALED};
use semel_core::{Body, Error, Headers, Identity, Kind, Outcome, Result};

use crate::cipher::{DataKey, OVERHEAD, Purpose, is_sealed, key_of, place};
use crate::keyring::Found;

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
}

impl Closed {
    /// For people who look at a record.
    fn told(&self) -> String {
        match self {
            Self::Forgotten => "the tenant's data key was destroyed".to_owned(),
            Self::Locked(kek) => format!("needs the key {kek} of encryption.keys"),
        }
    }
}

/// What became of a sealed text.
pub(crate) type Opened<T> = Result<std::result::Result<T, Closed>>;

/// A sealed text in its place.
fn open(found: &Found, place: &[u8], sealed: &[u8]) -> Opened<Bytes> {
    let key = match found {
        Found::Key(key) => key,
        Found::Locked(kek) => return Ok(Err(Closed::Locked(kek.to_string()))),
        Found::Absent => return Ok(Err(Closed::Forgotten)),
    };
    if key_of(sealed).is_some_and(|id| id != key.id()) {
        return Ok(Err(Closed::Forgotten));
    }
    let damaged = || {
        Error::new(
            Kind::Damaged,
            "a sealed text does not open with its own key",
        )
    };
    let text = key.open(place, sealed).ok_or_else(damaged)?;
    Ok(Ok(text.into()))
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
    one(key.seal(place, &text).into())
}

fn one(value: Bytes) -> Headers {
    let fields = vec![(SEALED.to_owned(), value)];
    Headers::new(fields).expect("one header of bounded length is within the limits")
}

fn mark(headers: &Headers) -> Option<&Bytes> {
    let mut fields = headers.iter();
    fields.find_map(|(name, value)| (name == SEALED).then_some(value))
}

/// An outcome as the store may see it: verdict, status and length.
pub(crate) fn seal_outcome(key: &DataKey, identity: &Identity, outcome: Outcome) -> Outcome {
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

/// An outcome as it was. Lists leave the bodies out; then the length is as it was.
pub(crate) fn open_outcome(
    found: &Found,
    identity: &Identity,
    outcome: &Outcome,
) -> Opened<Outcome> {
    let Some(mark) = mark(&outcome.headers) else {
        return Ok(Ok(outcome.clone()));
    };
    let text = match open(found, &of_identity(identity, Purpose::OutcomeHeaders), mark)? {
        Ok(text) => text,
        Err(closed) => return Ok(Err(closed)),
    };
    let cut = || Error::new(Kind::Damaged, "sealed headers end too early");
    let (front, rest) = text.split_first().ok_or_else(cut)?;
    let (body, rest) = match (*front, &outcome.body) {
        (OMITTED, body) => {
            let (digest, rest) = rest.split_first_chunk::<DIGEST_BYTES>().ok_or_else(cut)?;
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
            match open(found, &place, sealed)? {
                Ok(bytes) => (Body::Kept(bytes), rest),
                Err(closed) => return Ok(Err(closed)),
            }
        }
    };
    Ok(Ok(Outcome {
        headers: Headers::decode(rest)?,
        body,
        ..outcome.clone()
    }))
}

/// What is left of an outcome that stays closed: a replay says that its body is not kept.
pub(crate) fn closed_outcome(outcome: &Outcome, closed: &Closed) -> Outcome {
    let len = match outcome.body.kept() {
        Some(sealed) => sealed.len().saturating_sub(OVERHEAD) as u64,
        None => outcome.body.len(),
    };
    Outcome {
        headers: one(closed.told().into()),
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

    fn seal(&self, key: &DataKey, headers: &Headers, payload: &Bytes) -> Result<(Headers, Bytes)> {
        if headers.is_empty() && payload.is_empty() {
            return Ok((headers.clone(), payload.clone()));
        }
        let (max, found) = (BODY_BYTES_MAX - OVERHEAD, payload.len());
        if found > max {
            let message =
                format!("a payload that is sealed has at most {max} bytes, found {found}");
            return Err(Error::invalid(message));
        }
        let payload = key.seal(&self.payload, payload).into();
        let headers = sealed_headers(key, &self.headers, &[KEPT], headers);
        Ok((headers, payload))
    }

    fn open(&self, found: &Found, headers: &Headers, payload: &Bytes) -> Opened<(Headers, Bytes)> {
        let Some(mark) = mark(headers) else {
            return Ok(Ok((headers.clone(), payload.clone())));
        };
        let headers = open(found, &self.headers, mark)?;
        let payload = open(found, &self.payload, payload)?;
        match (headers, payload) {
            (Ok(headers), Ok(payload)) => {
                let headers = Headers::decode(headers.get(1..).unwrap_or_default())?;
                Ok(Ok((headers, payload)))
            }
            (Err(closed), _) | (_, Err(closed)) => Ok(Err(closed)),
        }
    }
}

/// A message as the store may see it.
pub(crate) fn seal_message(key: &DataKey, message: Message) -> Result<Message> {
    let places = Places::of(&message);
    let (headers, payload) = places.seal(key, message.headers(), message.payload())?;
    Ok(message.with_contents(headers, payload))
}

/// A message as it was, or as an operator made it.
pub(crate) fn open_message(found: &Found, message: &Message) -> Opened<Message> {
    let opened = Places::of(message).open(found, message.headers(), message.payload())?;
    Ok(opened.map(|(headers, payload)| message.clone().with_contents(headers, payload)))
}

/// What an operator makes of a message, as the store may see it.
pub(crate) fn seal_edit(key: &DataKey, identity: &Identity, edit: &Edit) -> Result<Edit> {
    let (headers, payload) = Places::of_edit(identity).seal(key, edit.headers(), edit.payload())?;
    Edit::new(payload, headers)
}

/// What an operator made of a message.
pub(crate) fn open_edit(found: &Found, identity: &Identity, edit: &Edit) -> Opened<Edit> {
    let opened = Places::of_edit(identity).open(found, edit.headers(), edit.payload())?;
    match opened {
        Ok((headers, payload)) => Edit::new(payload, headers).map(Ok),
        Err(closed) => Ok(Err(closed)),
    }
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
        false => Ok(Ok(bytes.clone())),
    }
}
