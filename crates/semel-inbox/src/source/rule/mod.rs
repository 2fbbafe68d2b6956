//! How a message is found in what was delivered: its id above all.
//!
//! The id must be the producer's, and the same each time the message is sent. In this order: the places that the rule names, a
//! CloudEvent's `source` and `id`, what the source itself knows. An id is never made up, except, where the policy allows
//! it, from the payload.

mod cloud_event;
mod locator;
mod refusal;

pub use locator::Locator;
pub use refusal::Refusal;

pub(crate) use cloud_event::split;

use crate::policy::Consumer;
use semel_core::inbox::message::SEQUENCE_MAX;
use semel_core::inbox::{Message, Order};
use semel_core::{Fingerprint, Headers, Identity, Key, Tenant};
use serde_json::Value;

use super::Raw;
use crate::vendors::Vendor;
use cloud_event::CloudEvent;
use locator::Seen;

/// Where the parts of a message are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Rule {
    /// Where the id is; the first place that has one counts.
    pub id: Vec<Locator>,
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

    /// The message that was delivered to this consumer.
    pub fn message(&self, consumer: &Consumer, raw: Raw) -> Result<Message, Refusal> {
        let event = match self.cloud_events {
            true => CloudEvent::of(&raw)?,
            false => None,
        };
        let seen = Seen::new(&raw);
        let found = |place: &Option<Locator>| match place {
            Some(place) => place.find(&seen),
            None => Ok(None),
        };
        let content = match &event {
            Some(event) => event.fingerprint(&raw),
            None => fingerprint(&raw),
        };
        let event = event.unwrap_or_default();
        let id = self.find_id(&seen, &raw, &event)?;
        let key = match id {
            Some(id) => Key::new(id)?,
            None if consumer.id_required => return Err(Refusal::IdMissing),
            None => content.derive_key(&raw.origin.topic),
        };
        let tenant = found(&self.tenant)?.or(raw.tenant.clone());
        let tenant = tenant.map_or_else(|| Ok(Tenant::public()), Tenant::new)?;
        let kind = found(&self.kind)?.or(event.kind).or(raw.kind.clone());
        let lane = found(&self.lane)?.or(event.lane).or(raw.lane.clone());
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
            Compare::Raw => Fingerprint::of_bytes(&raw.payload),
            Compare::Nothing => Fingerprint::none(),
        };
        let mut message = Message::new(identity, raw.payload)?
            .with_fingerprint(fingerprint)
            .with_origin(raw.origin)?
            .with_headers(Headers::new(raw.headers)?);
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

    fn find_id(
        &self,
        seen: &Seen<'_>,
        raw: &Raw,
        event: &CloudEvent,
    ) -> Result<Option<String>, Refusal> {
        for place in &self.id {
            if let Some(id) = place.find(seen)? {
                return Ok(Some(id));
            }
        }
        Ok(event.id.clone().or(raw.id.clone()))
    }
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
    match is_json {
        true => Fingerprint::of_json_text(&raw.payload),
        false => Fingerprint::of_bytes(&raw.payload),
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
