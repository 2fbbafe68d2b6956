//! Reads a whole body into one buffer, for doors that need nothing more.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use semel_core::Permit;

use super::{Buffer, Full, Memory};
use crate::body::AnyBody;
use crate::problem::{Problem, Type};

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It has more bytes than it may.
    TooLarge,
    /// There is no room for it.
    Full,
    /// It broke off.
    Broken,
}

impl Full {
    /// The refusal, as all doors say it.
    pub fn problem(self) -> Problem {
        let detail = "the memory for request bodies is used up, nothing ran";
        Problem::new(Type::Overloaded, detail).with("budget", "buffered_bytes")
    }
}

/// The length that a body's head states.
pub fn stated(headers: &HeaderMap) -> Option<usize> {
    let value = headers.get(CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// Reads a body of at most `bytes_max`, and gives it with what it has drawn. One that is stated to be larger is not
/// read.
pub async fn read(
    memory: &Memory,
    headers: &HeaderMap,
    mut body: impl AnyBody,
    bytes_max: usize,
) -> Result<(Bytes, Permit), Unread> {
    let stated = stated(headers);
    if stated.is_some_and(|stated| stated > bytes_max) {
        return Err(Unread::TooLarge);
    }
    let mut buffer = Buffer::new(memory, stated.unwrap_or(bytes_max));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else {
            continue;
        };
        if data.len() > bytes_max - buffer.len() {
            return Err(Unread::TooLarge);
        }
        let pushed = buffer.push(&data, body.is_end_stream());
        pushed.map_err(|Full| Unread::Full)?;
    }
    Ok(buffer.finish())
}

/// Bytes that keep what they have drawn until the last of their clones is gone.
pub fn counted((bytes, permit): (Bytes, Permit)) -> Bytes {
    struct Held(Bytes, #[expect(dead_code, reason = "held")] Permit);

    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    match bytes.is_empty() {
        true => bytes,
        false => Bytes::from_owner(Held(bytes, permit)),
    }
}
