//! Stable texts that name a message, a step of its handler or an intent, for whoever keeps its own idempotency keys.
//!
//! They are readable (`orders@1:evt-17:receipt`) as long as they are short, and a hash otherwise. Different names never
//! share a text: in each part `%`, `:` and whatever is not printable ASCII is percent-encoded, and the hash has no `:`.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use semel_core::fingerprint::Builder;
use semel_core::{Fingerprint, Identity, Tenant};

/// The longest of these texts, in bytes.
pub const KEY_BYTES_MAX: usize = 255;

/// What is encoded in a part: everything that is not printable ASCII, and what separates parts.
const PART: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b':');
/// In the first part `/` stands between a tenant and a consumer; a quote in front would make a header's value a quoted string (RFC 9651).
const OWNER: &AsciiSet = &PART.add(b'/').add(b'"');

/// The text that takes the place of another one when an operator asks for a new key, for the first time or again in a later generation.
pub fn renewed(text: &str, generation: u32) -> String {
    match generation {
        0 => text.to_owned(),
        generation => bounded(format!("{text}:key-{generation}")),
    }
}

/// The text of a message: tenant, consumer and message id.
pub fn of_message(message: &Identity) -> String {
    joined(message, &[])
}

/// The text of a step of a message's handler.
pub fn of_step(message: &Identity, step: &str) -> String {
    joined(message, &["step", step])
}

/// The text of an intent of a message: its id, and the key that its provider is given.
pub fn of_intent(message: &Identity, name: &str) -> String {
    joined(message, &[name])
}

fn joined(message: &Identity, names: &[&str]) -> String {
    let scope = message.scope().to_string();
    let owner = match *message.tenant() == Tenant::public() {
        true => encoded(&scope, OWNER),
        false => {
            let tenant = encoded(message.tenant().as_str(), OWNER);
            format!("{tenant}/{}", encoded(&scope, OWNER))
        }
    };
    let mut text = format!("{owner}:{}", encoded(message.key().as_str(), PART));
    for name in names {
        text.push(':');
        text.push_str(&encoded(name, PART));
    }
    bounded(text)
}

/// The text, or its hash if it is too long.
fn bounded(text: String) -> String {
    match text.len() <= KEY_BYTES_MAX {
        true => text,
        false => format!("semel-{}", hash(&text)),
    }
}

/// The hash of a text that is too long or not allowed where it is needed.
pub(crate) fn hash(text: &str) -> Fingerprint {
    Builder::default().part("key", text.as_bytes()).finish()
}

fn encoded(text: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(text, set).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tenant: &str, consumer: &str, id: &str) -> Identity {
        Identity::parse(tenant, consumer, id).unwrap()
    }

    #[test]
    fn short_names_are_readable() {
        let plain = message("public", "orders", "evt/17");
        assert_eq!(of_message(&plain), "orders@1:evt/17");
        assert_eq!(of_intent(&plain, "receipt"), "orders@1:evt/17:receipt");
        assert_eq!(of_step(&plain, "charge"), "orders@1:evt/17:step:charge");
        let other = message("acme", "orders@2", "é 1");
        assert_eq!(of_message(&other), "acme/orders@2:%C3%A9%201");
    }

    #[test]
    fn different_names_never_share_a_text() {
        let (a, b) = (
            message("public", "a", "b:c"),
            message("public", "a:b@1", "c"),
        );
        assert_ne!(of_message(&a), of_message(&b));
        let (tenant, slash) = (message("t", "a", "x"), message("public", "t/a", "x"));
        assert_ne!(of_message(&tenant), of_message(&slash));
        assert_ne!(of_step(&a, "n"), of_intent(&a, "step:n"));
    }

    #[test]
    fn a_new_key_is_another_one_in_every_generation_and_none_is_the_old_one() {
        let long = of_message(&message("public", "orders", &"x".repeat(240)));
        for text in ["orders@1:evt-17", &long] {
            let keys = [0, 1, 2].map(|generation| renewed(text, generation));
            assert_eq!(keys[0], text);
            assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
            assert!(keys.iter().all(|key| key.len() <= KEY_BYTES_MAX));
        }
    }

    #[test]
    fn keys_can_stand_in_a_header() {
        for (tenant, consumer, id) in [
            ("public", "\"quoted", "1"),
            ("\"t", "a", " é"),
            ("public", "a", "\"b\""),
        ] {
            let key = of_message(&message(tenant, consumer, id));
            let is_plain = key.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
            assert!(is_plain && !key.starts_with('"'), "{key}");
        }
    }

    #[test]
    fn long_names_are_hashed_and_stay_apart() {
        let long = "é".repeat(127);
        let (a, b) = (message("public", "a", &long), message("public", "b", &long));
        for text in [of_message(&a), of_intent(&a, "x"), of_message(&b)] {
            assert!(text.len() <= KEY_BYTES_MAX && text.starts_with("semel-"));
        }
        assert_ne!(of_message(&a), of_message(&b));
    }
}
