//! The head of an HTTP/1.1 message, as far as a benchmark asks.
//!
//! It is no validator: what it does not look for it skips, because every byte that is looked at costs
//! time that the measured processes need.

/// What a head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// How many bytes it has, with the empty line.
    pub(super) bytes: usize,
    /// The status of an answer; a request has none.
    pub(super) status: Option<u16>,
    /// How many bytes of body follow, if it says so.
    pub(super) body_bytes: Option<usize>,
    /// Whether the body comes in chunks, which nobody here reads.
    pub(super) is_chunked: bool,
    /// Whether it is marked as an answer from the record.
    pub(super) is_replay: bool,
    /// Whether the connection ends after this message.
    pub(super) closes: bool,
}

impl Head {
    /// Reads the head at the beginning of `bytes`; `None` if it does not end there.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let mut lines = bytes[..end].split(|byte| *byte == b'\n');
        let mut head = Self {
            bytes: end + 4,
            status: lines.next().and_then(status_of),
            body_bytes: None,
            is_chunked: false,
            is_replay: false,
            closes: false,
        };
        lines.for_each(|line| head.take(line));
        Some(head)
    }

    fn take(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // Lengths tell most names apart without a look at their letters.
        match colon {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.closes = value.eq_ignore_ascii_case(b"close");
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                self.body_bytes = number(value);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.is_chunked = true,
            19 if name.eq_ignore_ascii_case(b"idempotent-replayed") => {
                self.is_replay = value == b"true";
            }
            _ => {}
        }
    }
}

/// The status in `HTTP/1.1 201 Created`.
fn status_of(line: &[u8]) -> Option<u16> {
    let after = line.strip_prefix(b"HTTP/1.1 ")?;
    u16::try_from(number(after.get(..3)?)?).ok()
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 201 Created\r\ncontent-length: 12\r\nX: y\r\n\
        Idempotent-Replayed: true\r\nConnection: Close\r\n\r\n{}";

    #[test]
    fn an_answer_says_its_status_length_marker_and_end() {
        let head = Head::read(ANSWER).unwrap();
        assert_eq!(head.bytes, ANSWER.len() - 2);
        assert_eq!((head.status, head.body_bytes), (Some(201), Some(12)));
        assert!(head.is_replay && head.closes && !head.is_chunked);
    }

    #[test]
    fn an_unfinished_head_is_none_at_every_byte() {
        let end = ANSWER.len() - 2;
        for cut in 0..end {
            assert_eq!(Head::read(&ANSWER[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn a_request_has_no_status_and_names_have_no_case() {
        let head = Head::read(b"POST / HTTP/1.1\r\nCONTENT-LENGTH:7\r\n\r\n").unwrap();
        assert_eq!((head.status, head.body_bytes), (None, Some(7)));
        let head = Head::read(b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        assert!(head.is_chunked && head.body_bytes.is_none());
        assert!(!head.is_replay && !head.closes);
    }

    #[test]
    fn a_marker_that_is_not_true_is_no_marker() {
        let head = Head::read(b"HTTP/1.1 200 OK\r\nIdempotent-Replayed: false\r\n\r\n").unwrap();
        assert!(!head.is_replay);
    }
}
