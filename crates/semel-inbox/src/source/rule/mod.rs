//! How a message is found in what was delivered: its id above all.
//!
//! The id must be the producer's, and the same each time the message is sent. In this order: the places that the rule names, a
//! CloudEvent's `source` and `id`, the id under which the broker itself deduplicates, the rule's later places. An id is never made up, except,
//! where the policy allows it, from the payload. Where a message stands in its broker is its id only if the rule says so.
//!
//! What is no message is kept as an unreadable one, under an id that follows from what was delivered.

mod cloud_event;
mod locator;
mod refusal;
mod unreadable;

pub use locator::Locator;
pub use refusal::Refusal;

pub(crate) use cloud_event::split;

use crate::policy::Consumer;
use semel_core::fingerprint::Builder;
use semel_core::inbox::message::SEQUENCE_MAX;
use semel_core::inbox::{Message, Order};
use semel_core::{Fingerprint, Headers, Identity, Key, Tenant};
use serde_json::Value;

use super::{Raw, notes};
use crate::vendors::Vendor;
use cloud_event::CloudEvent;
use locator::Seen;

/// Where the parts of a message are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Rule {
    /// Where the id is; the first place that has one counts.
    pub id: Vec<Locator>,
    /// Where it is if neither these nor a CloudEvent nor the source itself have one.
    pub id_later: Vec<Locator>,
    /// On whose behalf; without a place everybody is the same.
    pub tenant: Option<Locator>,
    /// What kind of event it is.
    pub kind: Option<Locator>,
    /// The version of its schema.
    pub version: Option<Locator>,
    /// The key that orders it.
    pub lane: Option<Locator>,
    /// Its number under that key.
    pub sequence: Option<Locator>,
    /// Whether CloudEvents are recognised.
    pub cloud_events: bool,
    /// What makes two messages with one id the same.
    pub compare: Compare,
}

/// What makes two messages with one id the same; anything else under a known id is a conflict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compare {
    /// Their payloads; if these are JSON, whatever the order of their fields.
    #[default]
    CanonicalJson,
    /// All bytes of their payloads.
    Raw,
    /// Nothing: the id alone says everything.
    Nothing,
}

impl Rule {
    /// CloudEvents in any mode: identity is `source` and `id`; `partitionkey` orders, `sequence` counts. What is none has whatever id its
    /// source knows.
    pub fn cloud_events() -> Self {
        Self {
            cloud_events: true,
            ..Self::default()
        }
    }

    /// What producers of brokers send: the id in `idempotency-key` or `message-id`, a CloudEvent in any mode, the id under which the broker
    /// deduplicates, or Debezium's outbox header `id`.
    pub fn broker() -> Self {
        let header = |name: &str| Locator::Header(name.to_owned());
        Self {
            id: vec![header("idempotency-key"), header("message-id")],
            id_later: vec![header("id")],
            cloud_events: true,
            ..Self::default()
        }
    }

    /// Events whose body has `$.id` and `$.type`, as Stripe's and many others' do. Bodies are not compared, because Stripe's count the
    /// deliveries that are still to be made.
    pub fn stripe() -> Self {
        Self::vendor(Vendor::Stripe).expect("Stripe sends events")
    }

    /// The places where a vendor's events have id, type and tenant; `None` if it sends none that are known.
    pub fn vendor(vendor: Vendor) -> Option<Self> {
        let events = vendor.events()?;
        Some(Self {
            id: events.id.iter().map(Locator::from).collect(),
            kind: Some((&events.kind).into()),
            tenant: events.tenant.as_ref().map(Into::into),
            compare: match events.ids_say_all {
                true => Compare::Nothing,
                false => Compare::default(),
            },
            ..Self::default()
        })
    }

    /// The messages that were delivered to this consumer: a batch of CloudEvents holds several. What is none is unreadable, and says why.
    pub fn messages(&self, consumer: &Consumer, raw: &Raw) -> Vec<Message> {
        if !(self.cloud_events && cloud_event::is_batch(raw)) {
            return vec![self.message_or_unreadable(consumer, raw)];
        }
        match split(raw.clone()) {
            Ok(parts) => {
                let parts = parts.iter();
                parts
                    .map(|part| self.message_or_unreadable(consumer, part))
                    .collect()
            }
            Err(refusal) => vec![unreadable::message(consumer, raw, &refusal)],
        }
    }

    fn message_or_unreadable(&self, consumer: &Consumer, raw: &Raw) -> Message {
        let found = match &raw.unreadable {
            Some(why) => Err(Refusal::invalid(why.clone())),
            None => self.message(consumer, raw),
        };
        found.unwrap_or_else(|refusal| unreadable::message(consumer, raw, &refusal))
    }

    /// The message that was delivered to this consumer.
    pub fn message(&self, consumer: &Consumer, raw: &Raw) -> Result<Message, Refusal> {
        let event = match self.cloud_events {
            true => CloudEvent::of(raw)?,
            false => None,
        };
        let seen = Seen::new(raw);
        let found = |place: &Option<Locator>| match place {
            Some(place) => place.find(&seen),
            None => Ok(None),
        };
        let content = match &event {
            Some(event) => event.fingerprint(raw),
            None => fingerprint(raw),
        };
        let event = event.unwrap_or_default();
        let key = match self.find_id(&raw.identifying(), &event)? {
            Some(id) => Key::new(id)?,
            None if consumer.id_required => return Err(Refusal::IdMissing),
            None => derived(raw, content),
        };
        let tenant = found(&self.tenant)?.or(raw.tenant.clone());
        let tenant = tenant.map_or_else(|| Ok(Tenant::public()), Tenant::new)?;
        let kind = found(&self.kind)?.or(event.kind).or(raw.kind.clone());
        let lane = found(&self.lane)?.or(event.lane).or_else(|| lane(raw));
        let sequence = match (found(&self.sequence)?, event.sequence) {
            (Some(text), _) => Some(number("the sequence", &text)?),
            (None, Some(text)) if wants_sequence(consumer) => Some(number("the sequence", &text)?),
            // A CloudEvent's sequence is any text; without an order it is the event's own business.
            (None, Some(text)) => number("the sequence", &text)
                .ok()
                .filter(|n| *n <= SEQUENCE_MAX),
            (None, None) => raw.sequence,
        };
        let version = match found(&self.version)? {
            Some(text) => Some(number("the version", &text)?),
            None => raw.version,
        };
        if consumer.sequence_required && (lane.is_none() || sequence.is_none()) {
            return Err(Refusal::SequenceMissing);
        }
        let identity = Identity::new(tenant, consumer.name().clone(), key);
        let fingerprint = match self.compare {
            Compare::CanonicalJson => content,
            Compare::Raw => fingerprint_of_bytes(raw),
            Compare::Nothing => Fingerprint::none(),
        };
        let headers = Headers::new(notes::stored(raw, lane.as_deref()))?;
        let mut message = Message::new(identity, raw.payload.clone().unwrap_or_default())?
            .with_fingerprint(fingerprint)
            .with_origin(raw.origin.clone())?
            .with_headers(headers);
        if let Some(kind) = kind {
            message = message.with_kind(&kind, version)?;
        }
        if let Some(lane) = lane {
            message = message.with_lane(Key::new(lane)?);
        }
        Ok(match sequence {
            Some(sequence) => message.with_sequence(sequence)?,
            None => message,
        })
    }

    fn find_id(&self, raw: &Raw, event: &CloudEvent) -> Result<Option<String>, Refusal> {
        let seen = Seen::new(raw);
        for place in &self.id {
            if let Some(id) = place.find(&seen)? {
                return Ok(Some(id));
            }
        }
        if let Some(id) = event.id.as_ref().or(raw.id.as_ref()) {
            return Ok(Some(id.clone()));
        }
        for place in &self.id_later {
            if let Some(id) = place.find(&seen)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// An id made of what a message says. The broker's key is a part of it: tombstones of different keys are all alike otherwise.
fn derived(raw: &Raw, content: Fingerprint) -> Key {
    let content = match &raw.key {
        None => content,
        Some(key) => Builder::default()
            .part("key", key)
            .part("content", content.as_bytes())
            .finish(),
    };
    content.derive_key(&raw.origin.topic)
}

/// The text that orders a message, as its source knows it. A broker's key may be any bytes: those that are no text or too long are hashed.
fn lane(raw: &Raw) -> Option<String> {
    if raw.lane.is_some() {
        return raw.lane.clone();
    }
    let key = raw.key.as_ref().filter(|key| !key.is_empty())?;
    let text = std::str::from_utf8(key).ok();
    let text = text.filter(|text| Key::new(*text).is_ok());
    Some(match text {
        Some(text) => text.to_owned(),
        None => format!("bytes:{}", Fingerprint::of_bytes(key)),
    })
}

/// Whether messages of this consumer cannot go without a number.
fn wants_sequence(consumer: &Consumer) -> bool {
    consumer.sequence_required || matches!(consumer.plan.order, Order::Sequence { .. })
}

/// The fingerprint of a payload: of JSON the canonical one, so that a producer that writes it differently the second time is understood.
fn fingerprint(raw: &Raw) -> Fingerprint {
    let is_json = raw.media_type().is_none_or(|media| {
        media == "application/json" || media.ends_with("+json") || media == "text/json"
    });
    match (is_json, &raw.payload) {
        (true, Some(payload)) => Fingerprint::of_json_text(payload),
        (false, _) | (_, None) => fingerprint_of_bytes(raw),
    }
}

/// The fingerprint of all bytes of a payload; none is another thing than an empty one.
fn fingerprint_of_bytes(raw: &Raw) -> Fingerprint {
    match &raw.payload {
        Some(payload) => Fingerprint::of_bytes(payload),
        None => Builder::default().part("payload", b"null").finish(),
    }
}

fn number<T: std::str::FromStr>(what: &str, text: &str) -> Result<T, Refusal> {
    text.trim().parse().map_err(|_| {
        Refusal::invalid(format!(
            "{what} must be a whole number that is not negative"
        ))
    })
}

/// A JSON value as text; only text and whole numbers identify anything.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
