//! The bytes of bodies that a process holds in memory: one buffer for each body, one budget for all of them.
//!
//! Bodies come in pieces, and a piece keeps the whole buffer alive that it was read into: a mebibyte that is sent byte
//! by byte would cost thirty times as much if its pieces were kept. So a body is copied into one buffer as it arrives,
//! unless its only piece is all of it.
//!
//! A body draws from the budget as its buffer grows, never for a length that is only announced. A quarter of the
//! budget is for the first [`SMALL_BYTES`] of each body, so that large bodies, however many, keep no small one out.
//! Responses draw from a second budget of the same size: clients that do not read their answers must not keep requests of
//! others out. Replays may use half of it. An answer of the service is kept whether there is room or not; without room
//! nothing new begins.
//! Beside the budget a connection has its read and write buffers, which its listener limits.

mod read;

pub use read::{Unread, counted, read, stated};

use bytes::Bytes;
use semel_core::{Budget, Permit};

/// How many bytes of bodies a process holds by default.
pub const BUFFERED_BYTES: usize = 256 * 1024 * 1024;
/// What a body may have of the quarter that is kept for small ones, in bytes.
pub const SMALL_BYTES: usize = 16 * 1024;

/// The smallest buffer; smaller ones would only be moved.
const BUFFER_BYTES_MIN: usize = 4 * 1024;

/// The budgets of bytes that bodies hold. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub struct Memory {
    requests: Budget,
    responses: Budget,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(BUFFERED_BYTES)
    }
}

impl Memory {
    /// At most `bytes_max` of requests at once, and as many of responses.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            requests: Budget::new(bytes_max),
            responses: Budget::new(bytes_max),
        }
    }

    /// The bytes that bodies hold now.
    pub fn held(&self) -> usize {
        self.requests.used() + self.responses.used()
    }

    /// Both budgets by their names.
    pub const fn budgets(&self) -> [(&'static str, &Budget); 2] {
        [
            ("buffered_bytes", &self.requests),
            ("response_bytes", &self.responses),
        ]
    }

    /// Takes another limit. What is held stays.
    pub fn set_max(&self, bytes_max: usize) {
        for (_, budget) in self.budgets() {
            budget.set_max(bytes_max);
        }
    }

    /// Whether there is room for what an operation may answer.
    pub fn takes_responses(&self) -> bool {
        self.responses.used() <= self.responses.max()
    }

    /// The largest body that has room if there is no other.
    pub const fn body_bytes_max(bytes_max: usize) -> usize {
        bytes_max - bytes_max / 4
    }

    /// Counts bytes of a request that are in memory already.
    pub fn hold(&self, bytes: usize) -> Permit {
        let mut permit = self.requests.permit();
        permit.grow(bytes);
        permit
    }

    /// Counts the bytes of an answer of the service, as it grows: it is kept whether there is room or not.
    pub(crate) fn answer(&self) -> Permit {
        self.responses.permit()
    }

    /// Counts bytes of a response that is replayed, unless answers that are not read use up half of their budget
    /// already: the rest is for operations that run. One that is larger than that is answered too, alone.
    pub fn try_respond(&self, bytes: usize) -> Result<Permit, Full> {
        if self.responses.used() > self.responses.max() / 2 {
            return Err(Full);
        }
        let mut permit = self.responses.permit();
        permit.grow(bytes);
        Ok(permit)
    }
}

/// There is no room for more bytes of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// A body on its way into one buffer.
#[derive(Debug)]
pub struct Buffer {
    kept: Kept,
    /// Drawn for the buffer's capacity, or for the only piece.
    permit: Permit,
    /// No buffer is made larger than what is known to come.
    expected_max: usize,
}

#[derive(Debug)]
enum Kept {
    /// Nothing, or the only piece so far as it was read.
    Piece(Bytes),
    /// Copied pieces.
    Copied(Vec<u8>),
}

impl Buffer {
    /// An empty one, for a body of which at most `expected_max` bytes are known to come.
    pub fn new(memory: &Memory, expected_max: usize) -> Self {
        Self {
            kept: Kept::Piece(Bytes::new()),
            permit: memory.requests.permit(),
            expected_max,
        }
    }

    /// The same for a response.
    pub fn response(memory: &Memory, expected_max: usize) -> Self {
        Self {
            permit: memory.responses.permit(),
            ..Self::new(memory, expected_max)
        }
    }

    /// How many bytes it has.
    pub const fn len(&self) -> usize {
        match &self.kept {
            Kept::Piece(piece) => piece.len(),
            Kept::Copied(bytes) => bytes.len(),
        }
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a piece, if there is room for it; otherwise it stays as it is. `is_last` says that nothing is to come.
    pub fn push(&mut self, piece: &Bytes, is_last: bool) -> Result<(), Full> {
        let draws = self.draws(piece.len(), is_last);
        let max = self.permit.budget().max();
        let max = match self.permit.units() + draws <= SMALL_BYTES {
            true => max,
            false => Memory::body_bytes_max(max),
        };
        match self.permit.try_grow(draws, max) {
            true => {
                self.take(piece, is_last, draws);
                Ok(())
            }
            false => Err(Full),
        }
    }

    /// Takes a piece whether there is room or not: for what must be kept because something has happened already.
    pub fn push_anyway(&mut self, piece: &Bytes, is_last: bool) {
        let draws = self.draws(piece.len(), is_last);
        self.permit.grow(draws);
        self.take(piece, is_last, draws);
    }

    /// How much more it holds after a piece of `len` bytes.
    fn draws(&self, len: usize, is_last: bool) -> usize {
        let after = self.len() + len;
        let holds = match &self.kept {
            Kept::Piece(first) if first.is_empty() && is_last => len,
            Kept::Copied(bytes) if bytes.capacity() >= after => bytes.capacity(),
            // Doubled, so that each byte is moved about once, but not beyond what is known to come.
            Kept::Piece(_) | Kept::Copied(_) => after
                .max(BUFFER_BYTES_MIN)
                .next_power_of_two()
                .min(self.expected_max)
                .max(after),
        };
        holds.saturating_sub(self.permit.units())
    }

    fn take(&mut self, piece: &Bytes, is_last: bool, drawn: usize) {
        if is_last && self.is_empty() {
            self.kept = Kept::Piece(piece.clone());
            return;
        }
        let mut bytes = match std::mem::replace(&mut self.kept, Kept::Piece(Bytes::new())) {
            Kept::Copied(bytes) => bytes,
            Kept::Piece(first) => {
                let mut bytes = Vec::with_capacity(self.permit.units().max(first.len()));
                bytes.extend_from_slice(&first);
                bytes
            }
        };
        if drawn > 0 {
            bytes.reserve_exact(self.permit.units().saturating_sub(bytes.len()));
        }
        bytes.extend_from_slice(piece);
        self.kept = Kept::Copied(bytes);
    }

    /// All of it, and what it has drawn, which the holder of the bytes keeps.
    pub fn finish(mut self) -> (Bytes, Permit) {
        (self.split(), self.permit)
    }

    /// All of it. What it has drawn stays drawn until this is dropped.
    pub fn split(&mut self) -> Bytes {
        match std::mem::replace(&mut self.kept, Kept::Piece(Bytes::new())) {
            Kept::Piece(piece) => piece,
            Kept::Copied(mut bytes) => {
                bytes.shrink_to_fit();
                let spare = self.permit.units().saturating_sub(bytes.len());
                self.permit.shrink(spare);
                Bytes::from(bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(len: usize) -> Bytes {
        Bytes::from(vec![7; len])
    }

    #[test]
    fn the_only_piece_of_a_body_is_not_copied() {
        let memory = Memory::new(1024);
        let whole = piece(100);
        let mut buffer = Buffer::new(&memory, 100);
        buffer.push(&whole, true).unwrap();
        let (bytes, permit) = buffer.finish();
        assert_eq!(bytes.as_ptr(), whole.as_ptr());
        assert_eq!(memory.held(), 100);
        drop(permit);
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn pieces_become_one_buffer_that_grows_with_them() {
        let memory = Memory::default();
        let mut buffer = Buffer::new(&memory, 1024 * 1024);
        for n in 0..100_000_usize {
            buffer.push(&piece(1), false).unwrap();
            assert_eq!(buffer.len(), n + 1);
            assert!(memory.held() <= (2 * buffer.len()).max(BUFFER_BYTES_MIN));
        }
        let (bytes, permit) = buffer.finish();
        assert_eq!((bytes.len(), permit.units()), (100_000, 100_000));
        assert!(bytes.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn an_announced_length_draws_nothing_and_bounds_the_buffer() {
        let memory = Memory::default();
        let mut buffer = Buffer::new(&memory, 5_000);
        assert_eq!(memory.held(), 0);
        buffer.push(&piece(4_500), false).unwrap();
        assert_eq!(memory.held(), 5_000);
        // A sender that announced too little is counted all the same.
        buffer.push(&piece(4_500), false).unwrap();
        assert_eq!(memory.held(), 9_000);
    }

    #[test]
    fn large_bodies_leave_room_for_small_ones() {
        let memory = Memory::new(4 * SMALL_BYTES);
        let mut large = Buffer::new(&memory, usize::MAX);
        large.push(&piece(3 * SMALL_BYTES), true).unwrap();
        let mut another = Buffer::new(&memory, usize::MAX);
        assert_eq!(another.push(&piece(SMALL_BYTES + 1), true), Err(Full));
        let mut small = Buffer::new(&memory, usize::MAX);
        small.push(&piece(SMALL_BYTES), true).unwrap();
        assert_eq!(another.push(&piece(1), true), Err(Full), "nothing is left");
        another.push_anyway(&piece(1), true);
        assert_eq!(memory.held(), 4 * SMALL_BYTES + 1);
        drop((large, small, another));
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn a_piece_that_was_taken_for_the_last_is_copied_when_another_comes() {
        let memory = Memory::default();
        let mut buffer = Buffer::new(&memory, usize::MAX);
        buffer.push_anyway(&Bytes::from_static(b"one "), true);
        buffer.push_anyway(&Bytes::from_static(b"two"), true);
        let (bytes, permit) = buffer.finish();
        assert_eq!((&bytes[..], permit.units()), (&b"one two"[..], 7));
    }
}
