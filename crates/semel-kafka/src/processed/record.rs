//! The records of the log, and those of dead letters.
//!
//! A record of the log has a digest of tenant, consumer and id as its key, and as its value one line of text that people can read:
//! `1 TIME-MS FINGERPRINT STATE OFFSET ID`. The key is short whatever the id is, and the same after a restart, so that compaction keeps one record per id.

use bytes::Bytes;
use semel_core::inbox::Message;
use semel_inbox::source::HeaderField;

use super::ids::{Digest, Known};

/// How a message was processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processed {
    Done,
    /// It is among the dead letters; its duplicates do not run either.
    Dead,
}

impl Processed {
    const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }
}

/// The digest of a message.
pub(super) fn digest(message: &Message) -> Digest {
    message.identity().digest().short()
}

/// What tells another message with the same id.
pub(super) fn fingerprint(message: &Message) -> [u8; 8] {
    let mut short = [0; 8];
    short.copy_from_slice(&message.fingerprint().as_bytes()[..8]);
    short
}

/// The key of a record.
pub(super) fn key(digest: &Digest) -> Bytes {
    hex(digest).into()
}

/// The value of a record.
pub(super) fn value(message: &Message, known: Known, processed: Processed) -> Bytes {
    let offset = message.origin().offset.unwrap_or(-1);
    let (fingerprint, state) = (hex(&known.fingerprint), processed.name());
    let id = message.identity().key();
    format!("1 {} {fingerprint} {state} {offset} {id}", known.at_ms).into()
}

/// What a record says: an id that was processed, or, without a value, one that is forgotten. Nothing if it is no record of a log.
pub(super) fn parse(key: Option<&[u8]>, value: Option<&[u8]>) -> Option<(Digest, Option<Known>)> {
    let digest = unhex(key?)?;
    let Some(value) = value else {
        return Some((digest, None));
    };
    let mut parts = std::str::from_utf8(value).ok()?.splitn(6, ' ');
    let (version, at_ms) = (parts.next()?, parts.next()?.parse().ok()?);
    let fingerprint = unhex(parts.next()?.as_bytes())?;
    let is_whole = parts.count() == 3;
    let known = Known { at_ms, fingerprint };
    (version == "1" && is_whole).then_some((digest, Some(known)))
}

/// The headers of a dead letter: its own, and why it is one.
pub(super) fn dead_headers(
    own: Vec<HeaderField>,
    message: &Message,
    cause: &str,
    error: &str,
) -> Vec<HeaderField> {
    let mut headers = own;
    let origin = message.origin();
    let place = |number: Option<i64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let (partition, offset) = (place(origin.partition.map(i64::from)), place(origin.offset));
    let notes = [
        ("semel-dead-letter-cause", cause.to_owned()),
        ("semel-dead-letter-error", error.to_owned()),
        (
            "semel-dead-letter-consumer",
            message.identity().scope().to_string(),
        ),
        (
            "semel-dead-letter-origin",
            format!("{}/{partition}/{offset}", origin.topic),
        ),
    ];
    // A dead letter that came back and failed again says why it failed last.
    headers.retain(|(name, _)| !name.starts_with("semel-dead-letter-"));
    let notes = notes.map(|(name, value)| (name.to_owned(), Some(Bytes::from(value))));
    headers.extend(notes);
    headers
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.len() == 2 * N)?;
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::Identity;

    #[test]
    fn a_record_says_what_was_written() {
        let identity = Identity::parse("public", "orders@1", "an id with spaces").unwrap();
        let message = Message::new(identity, "{}").unwrap();
        let known = Known {
            at_ms: 1_700_000_000_000,
            fingerprint: fingerprint(&message),
        };
        let (key, value) = (
            key(&digest(&message)),
            value(&message, known, Processed::Done),
        );
        let read = parse(Some(&key), Some(&value));
        assert_eq!(read, Some((digest(&message), Some(known))));
        assert_eq!(parse(Some(&key), None), Some((digest(&message), None)));
        let text = String::from_utf8(value.to_vec()).unwrap();
        assert!(text.ends_with(" done -1 an id with spaces"), "{text}");
    }

    #[test]
    fn what_is_no_record_is_not_taken_for_one() {
        let key = hex(&[7; 16]);
        for (key, value) in [
            (None, Some("1 2 0000000000000000 done 3 a")),
            (Some("order-17"), Some("1 2 0000000000000000 done 3 a")),
            (Some(key.as_str()), Some("{\"id\": 7}")),
            (Some(key.as_str()), Some("2 2 0000000000000000 done 3 a")),
            (Some(key.as_str()), Some("1 2 00 done 3 a")),
            (Some(key.as_str()), Some("1 2 0000000000000000 done")),
        ] {
            let read = parse(key.map(str::as_bytes), value.map(str::as_bytes));
            assert_eq!(read, None, "{key:?} {value:?}");
        }
    }
}
