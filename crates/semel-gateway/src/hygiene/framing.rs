//! Sees whether a head says more than once how long its body is.
//!
//! A gateway in front of this one may have believed the other header: what it takes for a body we would
//! take for a request. The parser resolves that by the standard's rules and leaves no trace of it, so the
//! bytes are looked at as they arrive.

use memchr::memchr;

const LENGTH: &[u8] = b"content-length:";
const ENCODING: &[u8] = b"transfer-encoding:";

/// What one head has said about its body so far.
#[derive(Debug)]
pub(crate) struct Framing {
    /// The beginning of a line whose end has not arrived yet, as far as it matters.
    line: Vec<u8>,
    has_begun: bool,
    is_over: bool,
    lengths: usize,
    encodings: usize,
}

impl Framing {
    pub(crate) const fn new() -> Self {
        Self {
            line: Vec::new(),
            has_begun: false,
            is_over: false,
            lengths: 0,
            encodings: 0,
        }
    }

    /// Looks at the next bytes; those after the head do not matter.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) {
        while !self.is_over && !bytes.is_empty() {
            let Some(end) = memchr(b'\n', bytes) else {
                return self.keep(bytes);
            };
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.see(line);
            } else {
                self.keep(line);
                let line = std::mem::take(&mut self.line);
                self.see(&line);
            }
            bytes = rest;
        }
    }

    /// Whether somebody could disagree about where the body ends.
    pub(crate) const fn is_ambiguous(&self) -> bool {
        self.lengths + self.encodings > 1
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = ENCODING.len().saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn see(&mut self, line: &[u8]) {
        if matches!(line, b"" | b"\r") {
            // Empty lines before the first one are allowed and mean nothing.
            self.is_over = self.has_begun;
            return;
        }
        self.has_begun = true;
        match line[0] {
            b'c' | b'C' => self.lengths += usize::from(begins(line, LENGTH)),
            b't' | b'T' => self.encodings += usize::from(begins(line, ENCODING)),
            _ => {}
        }
    }
}

fn begins(line: &[u8], name: &[u8]) -> bool {
    line.get(..name.len())
        .is_some_and(|found| found.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ambiguous(head: &str, piece: usize) -> bool {
        let mut framing = Framing::new();
        head.as_bytes()
            .chunks(piece)
            .for_each(|bytes| framing.read(bytes));
        framing.is_ambiguous()
    }

    #[test]
    fn a_head_may_say_once_how_long_its_body_is() {
        let te = "Transfer-Encoding: chunked";
        for (fields, expected) in [
            ("Content-Length: 5", false),
            ("X-Content-Length: 5\r\ncontent-length: 5", false),
            ("Content-Length: 5\r\nCONTENT-LENGTH: 5", true),
            (te, false),
            (&format!("{te}\r\nContent-Length: 5"), true),
            (&format!("Content-Length: 5\r\n{te}"), true),
            (&format!("Content-Length: 5\n{te}"), true),
            (&format!("{te}\r\n{te}"), true),
            (&format!("Content-Length: 1\r\n\r\n{te}"), false),
        ] {
            let head = format!("\r\nPOST /content-length: HTTP/1.1\r\n{fields}\r\n\r\n");
            for piece in [1, 2, 7, 1_000] {
                assert_eq!(is_ambiguous(&head, piece), expected, "{head} by {piece}");
            }
        }
    }
}
