//! The messages that brokers are filled with: an id of 36 bytes and a JSON object of 300 that hardly compresses.

use crate::inbox::Letter;
use crate::sample::mix;

/// What the payload's text is made of.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The payload without its text.
const FRAME: (&str, &str) = ("{\"data\":\"", "\"}");

/// A message to be published.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    pub(crate) id: String,
    pub(crate) payload: String,
}

/// So many messages, the same each time.
pub(crate) fn letters(count: usize) -> Vec<Published> {
    let seed = mix(12);
    let numbers = 0..count as u64;
    numbers
        .map(|number| published(&Letter::new(seed, number)))
        .collect()
}

fn published(letter: &Letter) -> Published {
    let text = letter.payload.len() - FRAME.0.len() - FRAME.1.len();
    let text = letter.payload[..text].iter();
    let text: String = text
        .map(|byte| char::from(ALPHABET[usize::from(byte % 64)]))
        .collect();
    Published {
        id: letter.id.clone(),
        payload: format!("{}{text}{}", FRAME.0, FRAME.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_json_of_300_bytes_and_repeat() {
        let (once, again) = (letters(2), letters(2));
        for (one, same) in once.iter().zip(&again) {
            assert_eq!((&one.id, &one.payload), (&same.id, &same.payload));
            assert_eq!((one.id.len(), one.payload.len()), (36, 300));
            assert!(serde_json::from_str::<serde_json::Value>(&one.payload).is_ok());
        }
        assert_ne!(once[0].payload, once[1].payload);
    }
}
