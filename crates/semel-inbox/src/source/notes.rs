//! What is kept of a delivery beside the message's own headers, under names that producers cannot use.
//!
//! HTTP and the tables know neither a payload that is not there nor a header without a value, and a message's key is text. Notes keep
//! what would be lost, so that handlers see it and outlets can send it on as it was.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use semel_core::{Error, Headers, Result};

use super::delivery::{HeaderField, Raw};

/// The header that says `null` if a message has no payload, which is another thing than an empty one.
const PAYLOAD: &str = "semel-payload";
/// The header that names by their place, from 0, those of a message's headers that have no value.
const NULL_HEADERS: &str = "semel-null-headers";
/// The header with the broker's key in base64, if that is not the text that orders the message.
const KEY_BYTES: &str = "semel-key-bytes";
/// The header with the place in the broker that a message came from.
const COORDINATES: &str = "semel-coordinates";
/// The header that says how often the broker had delivered a message when it was received.
const DELIVERIES: &str = "semel-deliveries";
/// The header that says when a message was published, in milliseconds since 1970.
const PUBLISHED_MS: &str = "semel-published-ms";

/// All names, which producers cannot use.
const ALL: [&str; 6] = [
    PAYLOAD,
    NULL_HEADERS,
    KEY_BYTES,
    COORDINATES,
    DELIVERIES,
    PUBLISHED_MS,
];

/// Whether a header of this name is a note.
pub(crate) fn is_note(name: &str) -> bool {
    ALL.iter().any(|note| name.eq_ignore_ascii_case(note))
}

/// The headers of a delivery as they are stored: its own in their order, then the notes. `lane` is the text that orders the message.
pub(crate) fn stored(raw: &Raw, lane: Option<&str>) -> Vec<(String, Bytes)> {
    let own = raw.headers.iter().filter(|(name, _)| !is_note(name));
    let own: Vec<&HeaderField> = own.collect();
    let nulls = own.iter().enumerate();
    let nulls = nulls.filter(|(_, (_, value))| value.is_none());
    let nulls: Vec<String> = nulls.map(|(at, _)| at.to_string()).collect();
    let key = raw.key.as_ref();
    let key = key.filter(|key| lane.map(str::as_bytes) != Some(&key[..]));
    let published = raw.published_at.map(|at| at.as_millis().to_string());
    let notes = [
        (PAYLOAD, raw.payload.is_none().then(|| "null".to_owned())),
        (NULL_HEADERS, (!nulls.is_empty()).then(|| nulls.join(","))),
        (KEY_BYTES, key.map(|key| STANDARD.encode(key))),
        (COORDINATES, raw.coordinates.clone()),
        (DELIVERIES, raw.deliveries.map(|count| count.to_string())),
        (PUBLISHED_MS, published),
    ];
    let notes = notes
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name.to_owned(), Bytes::from(value))));
    let own = own.into_iter();
    let own = own.map(|(name, value)| (name.clone(), value.clone().unwrap_or_default()));
    own.chain(notes).collect()
}

/// Whether the broker had delivered a message before it delivered this; `None` if that is not known.
pub(crate) fn delivered_before(headers: &Headers) -> Option<bool> {
    let mut found = headers.iter().filter(|(name, _)| *name == DELIVERIES);
    let count = std::str::from_utf8(found.next()?.1).ok()?;
    count.parse::<u32>().ok().map(|count| count > 1)
}

/// What the notes of a stored message say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Whether the message has no payload at all.
    pub is_tombstone: bool,
    /// The broker's key, if it is not the text that orders the message.
    pub key: Option<Bytes>,
    /// The message's own headers as they were, without notes.
    pub headers: Vec<HeaderField>,
}

impl Notes {
    /// What is noted in the headers of a message.
    pub fn of(headers: &Headers) -> Self {
        let note = |wanted: &str| {
            let mut found = headers.iter().filter(|(name, _)| *name == wanted);
            std::str::from_utf8(found.next()?.1).ok()
        };
        let nulls = note(NULL_HEADERS).unwrap_or_default();
        let nulls: Vec<usize> = nulls.split(',').filter_map(|at| at.parse().ok()).collect();
        let own = headers
            .iter()
            .filter(|(name, _)| !is_note(name))
            .enumerate();
        let own = own.map(|(at, (name, value))| {
            let value = (!nulls.contains(&at)).then(|| value.clone());
            (name.to_owned(), value)
        });
        Self {
            is_tombstone: note(PAYLOAD) == Some("null"),
            key: note(KEY_BYTES)
                .and_then(|text| STANDARD.decode(text).ok())
                .map(Bytes::from),
            headers: own.collect(),
        }
    }
}

/// The headers of a message that an operator edits. Each of `set` takes the place of the headers of its name, in any spelling; the notes stay, but for the
/// one that says that there is no payload, if the message gets one.
pub fn edited_headers(
    headers: &Headers,
    set: &[(String, Bytes)],
    gets_payload: bool,
) -> Result<Headers> {
    if let Some((name, _)) = set.iter().find(|(name, _)| is_note(name)) {
        return Err(Error::invalid(format!(
            "{name} is a note of the source, which no edit changes"
        )));
    }
    let is_set = |name: &str| {
        set.iter()
            .any(|(wanted, _)| wanted.eq_ignore_ascii_case(name))
    };
    let kept = Notes::of(headers).headers.into_iter();
    let mut own: Vec<HeaderField> = kept.filter(|(name, _)| !is_set(name)).collect();
    own.extend(
        set.iter()
            .map(|(name, value)| (name.clone(), Some(value.clone()))),
    );
    let nulls = own
        .iter()
        .enumerate()
        .filter(|(_, (_, value))| value.is_none());
    let nulls: Vec<String> = nulls.map(|(at, _)| at.to_string()).collect();
    let nulls = (!nulls.is_empty()).then(|| (NULL_HEADERS.to_owned(), nulls.join(",").into()));
    let others = headers.iter().filter(|(name, _)| {
        let is_out = name.eq_ignore_ascii_case(NULL_HEADERS)
            || (gets_payload && name.eq_ignore_ascii_case(PAYLOAD));
        is_note(name) && !is_out
    });
    let others = others.map(|(name, value)| (name.to_owned(), value.clone()));
    let own = own
        .into_iter()
        .map(|(name, value)| (name, value.unwrap_or_default()));
    Headers::new(own.chain(nulls).chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_http_cannot_say_comes_back_as_it_was() {
        let some = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
        let headers = vec![
            ("a".to_owned(), some("1")),
            ("a".to_owned(), None),
            ("A".to_owned(), some("")),
        ];
        let raw = Raw {
            key: Some(Bytes::from_static(&[0xff, 0])),
            headers: headers.clone(),
            payload: None,
            ..Raw::default()
        };
        let stored = Headers::new(stored(&raw, None)).unwrap();
        let notes = Notes::of(&stored);
        assert!(notes.is_tombstone);
        assert_eq!(notes.key, raw.key);
        assert_eq!(notes.headers, headers);
    }

    #[test]
    fn an_edit_sets_headers_and_leaves_the_notes() {
        let some = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
        let raw = Raw {
            headers: vec![
                ("content-type".to_owned(), some("text/plain")),
                ("empty".to_owned(), None),
            ],
            payload: None,
            coordinates: Some("orders/3/77".to_owned()),
            ..Raw::default()
        };
        let arrived = Headers::new(stored(&raw, None)).unwrap();
        let set = [("Content-Type".to_owned(), Bytes::from("application/json"))];
        let headers_alone = edited_headers(&arrived, &set, false).unwrap();
        assert!(Notes::of(&headers_alone).is_tombstone);
        let edited = edited_headers(&arrived, &set, true).unwrap();
        let notes = Notes::of(&edited);
        assert!(!notes.is_tombstone);
        assert_eq!(Notes::of(&headers_alone).headers, notes.headers);
        let expected = [
            ("empty".to_owned(), None),
            ("Content-Type".to_owned(), some("application/json")),
        ];
        assert_eq!(notes.headers, expected);
        let coordinates = edited.iter().find(|(name, _)| *name == COORDINATES);
        assert_eq!(coordinates.unwrap().1, "orders/3/77");
        let note = [("Semel-Coordinates".to_owned(), Bytes::from("elsewhere"))];
        assert!(edited_headers(&arrived, &note, true).is_err());
    }

    #[test]
    fn producers_cannot_write_notes_and_a_textual_key_needs_none() {
        let raw = Raw {
            key: Some(Bytes::from_static(b"o-1")),
            headers: vec![("Semel-Payload".into(), Some(Bytes::from_static(b"null")))],
            payload: Some(Bytes::new()),
            ..Raw::default()
        };
        assert_eq!(stored(&raw, Some("o-1")), []);
        let noted = stored(&raw, Some("another"));
        assert_eq!(noted[0].0, KEY_BYTES);
    }
}
