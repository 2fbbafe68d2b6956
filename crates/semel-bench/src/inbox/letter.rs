//! The message that everything is measured with: an id of 36 bytes and 300 bytes that do not compress.

use semel_core::inbox::{Message, Origin};
use semel_core::{Identity, Result, Scope};

use crate::sample::{BODY_BYTES, Random, key, mix};

/// The event type of all letters.
pub(crate) const KIND: &str = "order.placed";
/// The version of its schema.
pub(crate) const VERSION: u32 = 1;
/// The topic that all letters come from.
pub(crate) const TOPIC: &str = "orders";

/// One message to be; all of it follows from a number.
#[derive(Debug, Clone)]
pub struct Letter {
    /// The id that its producer gave it.
    pub(crate) id: String,
    /// Its payload.
    pub(crate) payload: [u8; BODY_BYTES],
}

impl Letter {
    /// The letter with this number; other numbers, or another `seed`, give unrelated bytes.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random(seed ^ mix(number));
        Self {
            id: key(random.next(), random.next()),
            payload: random.bytes(),
        }
    }

    /// The message of this letter for a consumer.
    pub(crate) fn message(&self, consumer: &Scope) -> Result<Message> {
        let identity = Identity::new("public".parse()?, consumer.clone(), self.id.parse()?);
        let origin = Origin {
            topic: TOPIC.to_owned(),
            ..Origin::default()
        };
        Message::new(identity, self.payload.to_vec())?
            .with_kind(KIND, Some(VERSION))?
            .with_origin(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_seeds_tell_letters_apart_and_repeat() {
        let id = |seed, number| Letter::new(seed, number).id;
        assert_eq!(id(1, 2), id(1, 2));
        assert_ne!(id(1, 2), id(1, 3));
        assert_ne!(id(1, 2), id(2, 2));
        assert_eq!(id(1, 2).len(), 36);
    }
}
