//! Where a message says who it is.

use http::HeaderName;
use semel_core::Template;
use semel_http::key::{IDEMPOTENCY_KEY, SOURCES_MAX};
use semel_http::path::JsonPath;
use semel_inbox::Vendor;
use semel_inbox::vendors::{Events, Place};

use super::at;
use crate::file::Consumer;
use crate::file::consumer::{Fingerprint, IdField, KeyField, Scheme, SequenceField, Tenant};
use crate::tree::read::Fault;
use crate::value::{Broker, SourceUrl};

/// Where a message says who it is: in the places that are named, then in the attributes of a CloudEvent if these count, then
/// in what the source itself knows, such as the envelope of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Its id; tried in order. Of a CloudEvent: source and id together.
    pub id: Vec<Locator>,
    /// Its id, if neither these nor a CloudEvent nor the source itself have one.
    pub id_later: Vec<Locator>,
    /// The key that orders it. Of a CloudEvent: `partitionkey`.
    pub lane: Option<Locator>,
    /// Its number in its lane. Of a CloudEvent: `sequence`.
    pub sequence: Option<Locator>,
    /// The type of the event. Of a CloudEvent: `type`.
    pub kind: Option<Locator>,
    /// On whose behalf it is handled; without it the public's.
    pub tenant: Option<Locator>,
    /// Whether CloudEvents are recognised.
    pub cloud_events: bool,
}

/// One place of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locator {
    /// A header.
    Header(HeaderName),
    /// A field of a JSON body.
    Body(JsonPath),
    /// A text made from fields of a JSON body.
    Template(Template),
    /// Where the message stands in its broker.
    Coordinates,
}

/// The places of a consumer. Faults are relative to it.
pub(super) fn compile(consumer: &Consumer) -> Result<Fields, Fault> {
    is_list(consumer)?;
    has_coordinates(consumer)?;
    let id = consumer.id.as_ref().map(|id| {
        let places = id.iter().flat_map(|field| field_places(field, ids));
        places.collect()
    });
    let events = scheme(consumer).and_then(Scheme::events);
    let kind = match &consumer.kind {
        Some(field) => field_places(field, kinds).pop(),
        None => events.map(|events| place(&events.kind)),
    };
    let tenant = match &consumer.tenant {
        Some(written) => tenant(written),
        None => events.and_then(|events| events.tenant.as_ref().map(place)),
    };
    Ok(Fields {
        id_later: match (&id, consumer.source.as_deref()) {
            // Where Debezium's outbox has it.
            (None, Some(SourceUrl::Broker(_))) => vec![place(&Place::Header("id"))],
            _ => Vec::new(),
        },
        id: id.unwrap_or_else(|| usual(consumer)),
        lane: consumer.key.as_ref().and_then(lane),
        sequence: consumer.sequence.as_ref().and_then(sequence),
        kind,
        tenant,
        cloud_events: cloud_events(consumer),
    })
}

/// What makes two messages with one id the same.
pub(super) fn fingerprint(consumer: &Consumer) -> Fingerprint {
    let events = match &consumer.id {
        Some(id) => {
            let mut vendors = id.iter().filter_map(IdField::vendor);
            vendors.find_map(Vendor::events)
        }
        None => scheme(consumer).and_then(Scheme::events),
    };
    match (consumer.fingerprint, events) {
        (Some(fingerprint), _) => fingerprint,
        (None, Some(events)) if events.ids_say_all => Fingerprint::Off,
        (None, _) => Fingerprint::CanonicalJson,
    }
}

/// A CloudEvent is asked after all places, so it stands after them.
fn is_list(consumer: &Consumer) -> Result<(), Fault> {
    let Some(id) = &consumer.id else {
        return Ok(());
    };
    if !(1..=SOURCES_MAX).contains(&id.len()) {
        let found = id.len();
        let message = format!("expected 1 to {SOURCES_MAX} places, found {found}");
        return Err(Fault::said(at(["id"]), message));
    }
    let event = id.iter().position(|field| *field == IdField::Cloudevents);
    match event.is_some_and(|at| at + 1 < id.len()) {
        true => Err(Fault::said(
            at(["id"]),
            "expected cloudevents at the end: its attributes are asked after all places",
        )),
        false => Ok(()),
    }
}

/// Refuses coordinates as ids where the source gives none: every message would be parked as unreadable.
fn has_coordinates(consumer: &Consumer) -> Result<(), Fault> {
    let is_asked = consumer
        .id
        .as_ref()
        .is_some_and(|id| id.contains(&IdField::Coordinates));
    let without = match consumer.source.as_deref() {
        Some(SourceUrl::Http) => Some("messages that are posted"),
        Some(SourceUrl::File { .. }) => Some("lines of a file"),
        Some(SourceUrl::Broker(url)) if url.broker() == Broker::RabbitMq => {
            Some("messages of RabbitMQ")
        }
        Some(SourceUrl::Broker(_)) | None => None,
    };
    match without.filter(|_| is_asked) {
        Some(without) => {
            let message = format!(
                "expected another place than coordinates, because {without} have no lasting place at a broker"
            );
            Err(Fault::said(at(["id"]), message).beside(at(["source"])))
        }
        None => Ok(()),
    }
}

fn scheme(consumer: &Consumer) -> Option<Scheme> {
    let signature = consumer.signature.as_ref();
    signature.map(|signature| signature.scheme.0)
}

/// Whether CloudEvents are recognised: where somebody says so, and where nobody says where the id is.
fn cloud_events(consumer: &Consumer) -> bool {
    let id = match (&consumer.id, scheme(consumer)) {
        (Some(id), _) => id.contains(&IdField::Cloudevents),
        (None, Some(Scheme::Vendor(_))) => false,
        (None, Some(Scheme::Generic) | None) => true,
    };
    id || consumer.kind == Some(IdField::Cloudevents)
        || consumer.key == Some(KeyField::Cloudevents)
        || consumer.sequence == Some(SequenceField::Cloudevents)
}

/// Where senders put the id unless the file says otherwise.
fn usual(consumer: &Consumer) -> Vec<Locator> {
    if let Some(events) = scheme(consumer).and_then(Scheme::events) {
        return ids(events);
    }
    match consumer.source.as_deref() {
        Some(SourceUrl::File {
            whole_lines: true, ..
        }) => vec![place(&Place::Body("$.id"))],
        Some(SourceUrl::File {
            whole_lines: false, ..
        }) => Vec::new(),
        Some(SourceUrl::Broker(_)) => vec![
            Locator::Header(IDEMPOTENCY_KEY),
            place(&Place::Header("message-id")),
        ],
        Some(SourceUrl::Http) | None => vec![Locator::Header(IDEMPOTENCY_KEY)],
    }
}

/// The places that a field names; a vendor may have several.
fn field_places(field: &IdField, of_vendor: fn(&Events) -> Vec<Locator>) -> Vec<Locator> {
    match field {
        IdField::Header(name) => vec![Locator::Header(name.0.clone())],
        IdField::Body(path) => vec![Locator::Body(path.0.clone())],
        IdField::Template(template) => vec![Locator::Template(template.0.clone())],
        IdField::Coordinates => vec![Locator::Coordinates],
        vendors => {
            let events = vendors.vendor().and_then(Vendor::events);
            events.map(of_vendor).unwrap_or_default()
        }
    }
}

fn ids(events: &Events) -> Vec<Locator> {
    events.id.iter().map(place).collect()
}

fn kinds(events: &Events) -> Vec<Locator> {
    vec![place(&events.kind)]
}

/// A place of the vendors' table.
fn place(known: &Place) -> Locator {
    match known {
        Place::Header(name) => Locator::Header(HeaderName::from_static(name)),
        Place::Body(path) => Locator::Body(path.parse().expect("the table's paths are valid")),
        Place::Template(text) => {
            Locator::Template(text.parse().expect("the table's templates are valid"))
        }
    }
}

fn lane(field: &KeyField) -> Option<Locator> {
    match field {
        KeyField::Header(name) => Some(Locator::Header(name.0.clone())),
        KeyField::Body(path) => Some(Locator::Body(path.0.clone())),
        KeyField::Template(template) => Some(Locator::Template(template.0.clone())),
        KeyField::Cloudevents => None,
    }
}

fn sequence(field: &SequenceField) -> Option<Locator> {
    match field {
        SequenceField::Header(name) => Some(Locator::Header(name.0.clone())),
        SequenceField::Body(path) => Some(Locator::Body(path.0.clone())),
        SequenceField::Cloudevents => None,
    }
}

fn tenant(tenant: &Tenant) -> Option<Locator> {
    match tenant {
        Tenant::Public => None,
        Tenant::Header(name) => Some(Locator::Header(name.0.clone())),
        Tenant::Body(path) => Some(Locator::Body(path.0.clone())),
    }
}
