//! What an operator makes of a message that failed: other contents beside the original, which never changes.
//!
//! Duplicates go on being compared with the original: a redelivery of it is a duplicate, whatever was made of it. Every attempt after an edit, replays and
//! rebuilds included, gets the newest edit, and its handler can see that it does ([`super::Message::edited`]).

use bytes::Bytes;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::outcome::{BODY_BYTES_MAX, Headers};

/// How many edits of one message are kept; the oldest go first.
pub const EDITS_MAX: usize = 8;

/// The contents that an operator gives to a message.
#[derive(Clone, PartialEq, Eq)]
pub struct Edit {
    payload: Bytes,
    headers: Headers,
}

impl Edit {
    /// This payload with all of these headers; the payload has at most as many bytes as a message's own.
    pub fn new(payload: impl Into<Bytes>, headers: Headers) -> Result<Self> {
        let payload = payload.into();
        if payload.len() > BODY_BYTES_MAX {
            return Err(Error::invalid(format!(
                "an edited payload has at most {BODY_BYTES_MAX} bytes, found {}",
                payload.len()
            )));
        }
        Ok(Self { payload, headers })
    }

    /// The payload.
    pub const fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The headers, all of them.
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }
}

impl std::fmt::Debug for Edit {
    /// Contents never reach logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edit")
            .field("payload_bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}

/// An edit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Which one of the message's edits, from 1.
    pub version: u32,
    /// When.
    pub at: Timestamp,
    /// Who made it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// What was made of the message.
    pub edit: Edit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_payload_is_bounded_and_stays_out_of_logs() {
        assert!(Edit::new(vec![0; BODY_BYTES_MAX + 1], Headers::default()).is_err());
        let edit = Edit::new("secret", Headers::default()).unwrap();
        assert!(!format!("{edit:?}").contains("secret"));
    }
}
