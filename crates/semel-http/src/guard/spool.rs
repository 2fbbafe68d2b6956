//! Reads a request body within its limits: length and time.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http_body_util::BodyExt;

use crate::body::{AnyBody, Body};
use crate::problem::{Problem, Type};
use crate::rules::Rules;

/// A body that is whole in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl From<Read> for Body {
    fn from(read: Read) -> Self {
        Self::whole(read.bytes, read.trailers)
    }
}

/// What became of reading a body.
pub(crate) enum Spooled<B> {
    /// It is all here.
    Whole(Read),
    /// It is larger than the limit. These bytes were read; the rest was not.
    TooLarge((Bytes, B)),
}

/// Reads up to the route's limit. A length that is stated above it is refused without reading.
pub(crate) async fn spool<B>(rules: &Rules, parts: &Parts, body: B) -> Result<Spooled<B>, Problem>
where
    B: AnyBody,
{
    let stated = parts.headers.get(CONTENT_LENGTH);
    let stated = stated.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if stated.is_some_and(|stated| stated > rules.request_bytes_max as u64) {
        return Ok(Spooled::TooLarge((Bytes::new(), body)));
    }
    let reading = read(body, rules.request_bytes_max);
    match tokio::time::timeout(rules.body_timeout, reading).await {
        Ok(Ok(spooled)) => Ok(spooled),
        Ok(Err(_broken)) => Err(Problem::new(
            Type::BodyBroken,
            "the request body broke off before its end, nothing ran",
        )),
        Err(_elapsed) => Err(Problem::new(
            Type::BodyTimeout,
            format!(
                "the request body did not arrive within {:?}, nothing ran",
                rules.body_timeout
            ),
        )),
    }
}

async fn read<B>(mut body: B, max: usize) -> Result<Spooled<B>, B::Error>
where
    B: AnyBody,
{
    let mut gathered = Gathered::default();
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(data) => gathered.push(data),
            Err(other) => gathered.trailers = other.into_trailers().ok(),
        }
        if gathered.len > max {
            return Ok(Spooled::TooLarge((gathered.joined(), body)));
        }
    }
    Ok(Spooled::Whole(gathered.finish()))
}

/// Pieces of a body. Most bodies come in one piece, which is then not copied.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pieces: Vec<Bytes>,
    pub(super) len: usize,
    pub(super) trailers: Option<HeaderMap>,
}

impl Gathered {
    pub(super) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push(piece);
        }
    }

    pub(super) fn joined(&mut self) -> Bytes {
        match self.pieces.len() {
            0 => Bytes::new(),
            1 => self.pieces.swap_remove(0),
            _ => {
                let mut joined = BytesMut::with_capacity(self.len);
                self.pieces
                    .drain(..)
                    .for_each(|piece| joined.extend_from_slice(&piece));
                joined.freeze()
            }
        }
    }

    pub(super) fn finish(mut self) -> Read {
        Read {
            bytes: self.joined(),
            trailers: self.trailers,
        }
    }
}
