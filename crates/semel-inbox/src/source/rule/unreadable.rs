//! What was delivered and is no message, as a message that waits for a person.

use bytes::Bytes;
use semel_core::fingerprint::Builder;
use semel_core::inbox::{Message, Origin};
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::{Headers, Identity, Key, Tenant};

use super::{Raw, Refusal};
use crate::policy::Consumer;
use crate::source::notes;

/// Headers that brokers add or change when they deliver a message again.
const COUNTERS: [&str; 5] = [
    "x-death",
    "x-delivery-count",
    "x-first-death-",
    "x-last-death-",
    "x-acquired-",
];

/// The unreadable message of a delivery: its bytes, headers and coordinates as far as they can be kept. Its id follows from where it came from and
/// what it holds, so that the same delivery is stored once.
pub(super) fn message(consumer: &Consumer, raw: &Raw, refusal: &Refusal) -> Message {
    let place = raw.coordinates.clone().unwrap_or_else(|| {
        let Origin {
            topic,
            partition,
            offset,
        } = &raw.origin;
        format!("{topic}/{partition:?}/{offset:?}")
    });
    let mut parts = Builder::default()
        .part("place", place.as_bytes())
        .part("payload", raw.body());
    if raw.coordinates.is_none() {
        // Two messages may differ in their headers alone then.
        for (name, value) in raw.headers.iter().filter(|(name, _)| !is_counter(name)) {
            parts = parts.part(name, value.as_deref().unwrap_or_default());
        }
    }
    let key = Key::new(format!("unreadable:{}", parts.finish()));
    let key = key.expect("a hash with plain letters before it is a valid key");
    let identity = Identity::new(Tenant::public(), consumer.name().clone(), key);
    let headers = Headers::fitting(notes::stored(raw, None), notes::is_note);
    let (payload, cut) = fitting(raw.payload.clone().unwrap_or_default());
    let message = Message::new(identity, payload).expect("the payload was cut to what is allowed");
    let message = match message.clone().with_origin(raw.origin.clone()) {
        Ok(message) => message,
        Err(_) => message,
    };
    let why = match cut {
        Some(bytes) => {
            format!("{refusal}; only the first {BODY_BYTES_MAX} of {bytes} bytes are kept")
        }
        None => refusal.to_string(),
    };
    message.with_headers(headers).as_unreadable(&why)
}

fn is_counter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    COUNTERS.iter().any(|counter| name.starts_with(counter))
}

/// As much of a payload as the inbox holds, and how much there was if that is more.
fn fitting(payload: Bytes) -> (Bytes, Option<usize>) {
    match payload.len() > BODY_BYTES_MAX {
        true => (payload.slice(..BODY_BYTES_MAX), Some(payload.len())),
        false => (payload, None),
    }
}
