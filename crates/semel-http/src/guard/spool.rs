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

/// What became of reading a body. Of one that is not whole, these bytes were read and the rest was not.
pub(crate) enum Spooled<B> {
    /// It is all here.
    Whole(Read),
    /// It is larger than the limit.
    TooLarge((Bytes, B)),
    /// It did not arrive in time.
    TooSlow((Bytes, B)),
}

/// Reads up to the route's limits. A length that is stated above them is refused without reading.
pub(crate) async fn spool<B>(
    rules: &Rules,
    parts: &Parts,
    mut body: B,
) -> Result<Spooled<B>, Problem>
where
    B: AnyBody,
{
    let stated = parts.headers.get(CONTENT_LENGTH);
    let stated = stated.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if stated.is_some_and(|stated| stated > rules.request_bytes_max as u64) {
        return Ok(Spooled::TooLarge((Bytes::new(), body)));
    }
    let mut gathered = Gathered::default();
    let reading = gathered.read(&mut body, rules.request_bytes_max);
    match tokio::time::timeout(rules.body_timeout, reading).await {
        Ok(Ok(true)) => Ok(Spooled::Whole(gathered.finish())),
        Ok(Ok(false)) => Ok(Spooled::TooLarge((gathered.joined(), body))),
        Ok(Err(_broken)) => Err(Problem::new(
            Type::BodyBroken,
            "the request body broke off before its end, nothing ran",
        )),
        Err(_elapsed) => Ok(Spooled::TooSlow((gathered.joined(), body))),
    }
}

/// Pieces of a body. Most bodies come in one piece, which is then not copied.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pieces: Vec<Bytes>,
    pub(super) len: usize,
    pub(super) trailers: Option<HeaderMap>,
}

impl Gathered {
    /// Reads until the end, or until there is more than `max`; whether it was the end. Cancelled, it
    /// keeps what it has.
    pub(super) async fn read<B: AnyBody>(
        &mut self,
        body: &mut B,
        max: usize,
    ) -> Result<bool, B::Error> {
        while let Some(frame) = body.frame().await {
            match frame?.into_data() {
                Ok(data) => self.push(data),
                Err(other) => self.trailers = other.into_trailers().ok(),
            }
            if self.len > max {
                return Ok(false);
            }
        }
        Ok(true)
    }

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
