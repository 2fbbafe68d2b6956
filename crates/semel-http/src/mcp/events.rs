//! Takes an event stream (`text/event-stream`) apart into events, as bytes that can be handed on unchanged.

use bytes::{Bytes, BytesMut};

/// What has arrived of a stream and is not part of a complete event yet.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: BytesMut,
    /// How far the buffer has been looked at, and where the line begins that goes on there.
    scanned: usize,
    line: usize,
}

impl Splitter {
    /// Takes more of the stream.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// How many bytes wait for the end of their event.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// The next complete event, with the empty line at its end.
    pub(crate) fn next_event(&mut self) -> Option<Bytes> {
        while self.scanned < self.buffer.len() {
            let end = match self.buffer[self.scanned] {
                b'\n' => 1,
                // Whether a line feed belongs to it is not known yet.
                b'\r' if self.scanned + 1 == self.buffer.len() => return None,
                b'\r' if self.buffer[self.scanned + 1] == b'\n' => 2,
                b'\r' => 1,
                _ => {
                    self.scanned += 1;
                    continue;
                }
            };
            let is_empty = self.line == self.scanned;
            self.scanned += end;
            self.line = self.scanned;
            if is_empty {
                return Some(self.take(self.scanned));
            }
        }
        None
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.take(self.buffer.len())
    }

    fn take(&mut self, len: usize) -> Bytes {
        (self.scanned, self.line) = (0, 0);
        self.buffer.split_to(len).freeze()
    }

    /// The data of an event; `None` if it has none, or none that is text.
    pub(crate) fn data(event: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(event).ok()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.split(['\n', '\r']);
        let data = lines.filter_map(|line| match line.strip_prefix("data") {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix(':'),
            None => None,
        });
        let data: Vec<_> = data
            .map(|value| value.strip_prefix(' ').unwrap_or(value))
            .collect();
        (!data.is_empty()).then(|| data.join("\n"))
    }
}
