//! Reads a request body within its limits: length, time, pace, and the memory that all bodies share.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use http_body_util::BodyExt;
use semel_core::Permit;
use tokio::time::{Instant, timeout_at};

use super::{Budgets, Inner};
use crate::body::{AnyBody, Body};
use crate::memory::{self, Buffer, Full, Memory};
use crate::problem::{Problem, Type};
use crate::rules::Pace;

/// How long a body may take to arrive before it needs a place among those that are awaited. Nearly all bodies come
/// with their heads: they need none, so slow senders, however many, keep no other request out.
const PROMPT: Duration = Duration::from_millis(250);

/// A body that is whole in memory.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) held: Option<Permit>,
}

impl From<Read> for Body {
    fn from(read: Read) -> Self {
        let body = Self::whole(read.bytes, read.trailers);
        match read.held {
            Some(held) => body.holding(held),
            None => body,
        }
    }
}

/// What became of reading a body. Of one that is not whole, this was read and the rest was not.
pub(crate) enum Spooled<B> {
    /// It is all here.
    Whole(Read),
    /// It is larger than the limit.
    TooLarge((Read, B)),
    /// It did not arrive in time.
    TooSlow((Read, B)),
    /// There is no room for it.
    NoRoom(Room, (Read, B)),
}

/// What there is no room in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// The memory for bodies.
    Memory,
    /// The places of bodies that are awaited.
    Receiving,
}

impl Room {
    /// The refusal; nothing ran.
    pub(crate) fn problem(self) -> Problem {
        if self == Self::Memory {
            return Full.problem();
        }
        let detail = "too many request bodies are still arriving, nothing ran";
        Problem::new(Type::Overloaded, detail).with("budget", "receiving")
    }
}

/// Reads up to the route's limits. A length that is stated above them is refused without reading.
pub(crate) async fn spool<B>(
    guard: &Inner,
    parts: &Parts,
    mut body: B,
) -> Result<Spooled<B>, Problem>
where
    B: AnyBody,
{
    let (rules, budgets) = (&guard.rules, &guard.budgets);
    let max = rules.request_bytes_max;
    let stated = memory::stated(&parts.headers);
    if stated.is_some_and(|stated| stated > max) {
        return Ok(Spooled::TooLarge((Read::default(), body)));
    }
    let mut gathered = Gathered::new(&budgets.memory, stated.unwrap_or(max));
    let began = Instant::now();
    let ends = began + rules.body_timeout;
    let prompt = ends.min(began + PROMPT);
    let reading = async {
        match timeout_at(prompt, gathered.receive(&mut body, max, None)).await {
            Ok(end) => return end,
            Err(_elapsed) if ends <= prompt => return Ok(End::Late),
            Err(_elapsed) => {}
        }
        let Some(_place) = budgets.receiving.take() else {
            return Ok(End::NoRoom(Room::Receiving));
        };
        // Boxed, so that bodies that come with their heads do not carry the room for it around.
        let pace = rules.body_pace.watch(began, gathered.len());
        let paced = Box::pin(gathered.receive(&mut body, max, pace));
        timeout_at(ends, paced).await.unwrap_or(Ok(End::Late))
    };
    match reading.await {
        Ok(End::Whole) => Ok(Spooled::Whole(gathered.finish())),
        Ok(End::TooLarge) => Ok(Spooled::TooLarge((gathered.finish(), body))),
        Ok(End::Late) => Ok(Spooled::TooSlow((gathered.finish(), body))),
        Ok(End::NoRoom(room)) => Ok(Spooled::NoRoom(room, (gathered.finish(), body))),
        Err(_broken) => Err(Problem::new(
            Type::BodyBroken,
            "the request body broke off before its end, nothing ran",
        )),
    }
}

/// How receiving a body came to its end.
enum End {
    Whole,
    TooLarge,
    Late,
    NoRoom(Room),
}

/// A body on its way into one buffer, and its trailers.
#[derive(Debug)]
pub(super) struct Gathered {
    buffer: Buffer,
    pub(super) trailers: Option<HeaderMap>,
}

impl Gathered {
    /// An empty one, for a body of which at most `expected_max` bytes are known to come.
    pub(super) fn new(memory: &Memory, expected_max: usize) -> Self {
        Self {
            buffer: Buffer::new(memory, expected_max),
            trailers: None,
        }
    }

    /// An empty one for a response under a claim of `budgets`' guard.
    pub(super) fn response(budgets: &Budgets) -> Self {
        Self {
            buffer: Buffer::response(&budgets.memory, usize::MAX),
            trailers: None,
        }
    }

    /// How many bytes it has.
    pub(super) const fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Receives a request's body until its end, until there is more than `max`, or until there is no more room for
    /// it. Cancelled, it keeps what it has.
    async fn receive<B: AnyBody>(
        &mut self,
        body: &mut B,
        max: usize,
        mut pace: Option<Pace>,
    ) -> Result<End, B::Error> {
        loop {
            let frame = match &pace {
                None => body.frame().await,
                Some(pace) => match timeout_at(pace.deadline(), body.frame()).await {
                    Ok(frame) => frame,
                    Err(_elapsed) => return Ok(End::Late),
                },
            };
            let Some(frame) = frame else {
                return Ok(End::Whole);
            };
            match frame?.into_data() {
                Ok(data) => {
                    if let Err(Full) = self.buffer.push(&data, body.is_end_stream()) {
                        // The piece stays with what was read: a body that only passes must lose nothing.
                        self.buffer.push_anyway(&data, false);
                        return Ok(End::NoRoom(Room::Memory));
                    }
                    if let Some(pace) = &mut pace {
                        pace.arrived(data.len(), Instant::now());
                    }
                }
                Err(other) => self.trailers = other.into_trailers().ok(),
            }
            if self.buffer.len() > max {
                return Ok(End::TooLarge);
            }
        }
    }

    /// Reads a response until the end, or until there is more than `max`; whether it was the end. Cancelled, it
    /// keeps what it has. The service has acted by now, so its answer is kept whether there is room or not; it is
    /// counted, and what comes after it is refused until there is.
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
            if self.buffer.len() > max {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes a piece of a response. The first is not copied: most responses have one.
    pub(super) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.buffer.push_anyway(&piece, true);
        }
    }

    /// All of it. It stays counted until this is dropped.
    pub(super) fn joined(&mut self) -> Bytes {
        self.buffer.split()
    }

    pub(super) fn finish(self) -> Read {
        let (bytes, held) = self.buffer.finish();
        Read {
            bytes,
            trailers: self.trailers,
            held: Some(held),
        }
    }
}
