//! Cuts bytes into lines, and knows where each one ends.

use std::collections::VecDeque;

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// Only its beginning if it is too long.
    pub(super) text: Vec<u8>,
    /// How many bytes it has, if that is too long.
    pub(super) too_long: Option<u64>,
    /// Where the next line begins, and how many lines are before it.
    after: (u64, u64),
}

/// Cuts bytes into lines.
#[derive(Debug)]
pub(super) struct Splitter {
    bytes_max: usize,
    ready: VecDeque<Line>,
    /// The beginning of a line whose end has not come.
    part: Vec<u8>,
    /// How many bytes that line has by now.
    part_bytes: u64,
    /// Where the last byte that came in ended, and how many lines have ended.
    read: u64,
    lines: u64,
    /// The same for what was taken out.
    taken: (u64, u64),
}

impl Splitter {
    /// Begins at this offset, after so many lines.
    pub(super) const fn new(bytes_max: usize, (offset, lines): (u64, u64)) -> Self {
        Self {
            bytes_max,
            ready: VecDeque::new(),
            part: Vec::new(),
            part_bytes: 0,
            read: offset,
            lines,
            taken: (offset, lines),
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(at + 1);
            self.grow(&line[..at]);
            self.read += 1;
            self.finish();
            bytes = rest;
        }
        self.grow(bytes);
    }

    /// Of a line that is too long only the beginning is kept.
    fn grow(&mut self, bytes: &[u8]) {
        self.read += bytes.len() as u64;
        self.part_bytes += bytes.len() as u64;
        let room = self.bytes_max.saturating_sub(self.part.len());
        self.part.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn finish(&mut self) {
        self.lines += 1;
        let bytes = std::mem::take(&mut self.part_bytes);
        self.ready.push_back(Line {
            number: self.lines,
            text: std::mem::take(&mut self.part),
            too_long: (bytes > self.bytes_max as u64).then_some(bytes),
            after: (self.read, self.lines),
        });
    }

    /// Nothing more comes: what has no end is a line too.
    pub(super) fn end(&mut self) {
        if !self.part.is_empty() {
            self.finish();
        }
    }

    /// What comes next is the beginning of a file. Lines that are ready stay; what follows them is that beginning.
    pub(super) fn restart(&mut self) {
        self.part.clear();
        (self.part_bytes, self.read, self.lines) = (0, 0, 0);
        self.taken = (0, 0);
        for line in &mut self.ready {
            line.after = (0, 0);
        }
    }

    pub(super) fn next(&mut self) -> Option<Line> {
        let line = self.ready.pop_front()?;
        self.taken = line.after;
        Some(line)
    }

    /// Where the first line begins that was not taken out, and how many lines are before it.
    pub(super) const fn taken(&self) -> (u64, u64) {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(splitter: &mut Splitter) -> Vec<(u64, String, Option<u64>)> {
        std::iter::from_fn(|| splitter.next())
            .map(|line| {
                let text = String::from_utf8(line.text).unwrap();
                (line.number, text, line.too_long)
            })
            .collect()
    }

    #[test]
    fn lines_are_cut_wherever_the_pieces_end() {
        let whole = b"one\ntwo\n\nfour";
        for cut in 0..whole.len() {
            let mut splitter = Splitter::new(10, (100, 7));
            splitter.push(&whole[..cut]);
            splitter.push(&whole[cut..]);
            let three: Vec<_> = texts(&mut splitter);
            assert_eq!(three.len(), 3, "{cut}");
            assert_eq!(three[1], (9, "two".to_owned(), None));
            assert_eq!(splitter.taken(), (109, 10));
            splitter.end();
            assert_eq!(texts(&mut splitter), [(11, "four".to_owned(), None)]);
            assert_eq!(splitter.taken(), (113, 11));
        }
    }

    #[test]
    fn after_a_restart_positions_are_those_of_the_new_file() {
        let mut splitter = Splitter::new(10, (0, 0));
        splitter.push(b"one\nlast");
        assert_eq!(texts(&mut splitter).len(), 1);
        splitter.end();
        splitter.restart();
        assert_eq!(texts(&mut splitter), [(2, "last".to_owned(), None)]);
        assert_eq!(splitter.taken(), (0, 0));
        splitter.push(b"new\n");
        assert_eq!(texts(&mut splitter), [(1, "new".to_owned(), None)]);
        assert_eq!(splitter.taken(), (4, 1));
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_is_kept_and_the_next_is_read() {
        let mut splitter = Splitter::new(4, (0, 0));
        for piece in [&b"123"[..], b"45", b"6789\nok\n"] {
            splitter.push(piece);
        }
        let lines = texts(&mut splitter);
        assert_eq!(
            lines,
            [(1, "1234".to_owned(), Some(9)), (2, "ok".to_owned(), None)]
        );
        splitter.push(b"99999");
        splitter.end();
        assert_eq!(texts(&mut splitter), [(3, "9999".to_owned(), Some(5))]);
    }
}
