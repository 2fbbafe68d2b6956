//! Cuts bytes into lines, and knows where each one ends.

use std::collections::VecDeque;

use super::rejects::Rejects;

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// Empty if it was too long: then it is with the rejects already.
    pub(super) text: Vec<u8>,
    pub(super) is_long: bool,
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
    /// Whether that line is too long; its beginning is with the rejects.
    is_long: bool,
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
            is_long: false,
            read: offset,
            lines,
            taken: (offset, lines),
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], rejects: &mut Rejects) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(at + 1);
            self.grow(&line[..at], rejects);
            self.read += 1;
            if self.is_long {
                rejects.add(b"", true);
            }
            self.finish();
            bytes = rest;
        }
        self.grow(bytes, rejects);
    }

    fn grow(&mut self, bytes: &[u8], rejects: &mut Rejects) {
        self.read += bytes.len() as u64;
        if !self.is_long && self.part.len() + bytes.len() > self.bytes_max {
            self.is_long = true;
            rejects.add(&std::mem::take(&mut self.part), false);
        }
        match self.is_long {
            true => rejects.add(bytes, false),
            false => self.part.extend_from_slice(bytes),
        }
    }

    fn finish(&mut self) {
        self.lines += 1;
        self.ready.push_back(Line {
            number: self.lines,
            text: std::mem::take(&mut self.part),
            is_long: std::mem::take(&mut self.is_long),
            after: (self.read, self.lines),
        });
    }

    /// Nothing more comes: what has no end is a line too.
    pub(super) fn end(&mut self, rejects: &mut Rejects) {
        if self.is_long {
            rejects.add(b"", true);
        }
        if self.is_long || !self.part.is_empty() {
            self.finish();
        }
    }

    /// What comes next is the beginning of a file. Lines that are ready stay; what follows them is that beginning.
    pub(super) fn restart(&mut self, rejects: &mut Rejects) {
        // What was cut off inside a long line must not run into the next line that is rejected.
        if self.is_long {
            rejects.add(b"", true);
        }
        self.part.clear();
        (self.is_long, self.read, self.lines) = (false, 0, 0);
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

    fn texts(splitter: &mut Splitter) -> Vec<(u64, String, bool)> {
        std::iter::from_fn(|| splitter.next())
            .map(|line| {
                let text = String::from_utf8(line.text).unwrap();
                (line.number, text, line.is_long)
            })
            .collect()
    }

    #[test]
    fn lines_are_cut_wherever_the_pieces_end() {
        let whole = b"one\ntwo\n\nfour";
        for cut in 0..whole.len() {
            let (mut splitter, mut rejects) = (Splitter::new(10, (100, 7)), Rejects::default());
            splitter.push(&whole[..cut], &mut rejects);
            splitter.push(&whole[cut..], &mut rejects);
            let three: Vec<_> = texts(&mut splitter);
            assert_eq!(three.len(), 3, "{cut}");
            assert_eq!(three[1], (9, "two".to_owned(), false));
            assert_eq!(splitter.taken(), (109, 10));
            splitter.end(&mut rejects);
            assert_eq!(texts(&mut splitter), [(11, "four".to_owned(), false)]);
            assert_eq!(splitter.taken(), (113, 11));
        }
    }

    #[test]
    fn after_a_restart_positions_are_those_of_the_new_file() {
        let (mut splitter, mut rejects) = (Splitter::new(10, (0, 0)), Rejects::default());
        splitter.push(b"one\nlast", &mut rejects);
        assert_eq!(texts(&mut splitter).len(), 1);
        splitter.end(&mut rejects);
        splitter.restart(&mut rejects);
        assert_eq!(texts(&mut splitter), [(2, "last".to_owned(), false)]);
        assert_eq!(splitter.taken(), (0, 0));
        splitter.push(b"new\n", &mut rejects);
        assert_eq!(texts(&mut splitter), [(1, "new".to_owned(), false)]);
        assert_eq!(splitter.taken(), (4, 1));
    }

    #[test]
    fn a_line_that_is_too_long_is_rejected_piece_by_piece_and_the_next_is_read() {
        let (mut splitter, mut rejects) = (Splitter::new(4, (0, 0)), Rejects::default());
        for piece in [&b"123"[..], b"45", b"6789\nok\n"] {
            splitter.push(piece, &mut rejects);
        }
        let lines = texts(&mut splitter);
        assert_eq!(
            lines,
            [(1, String::new(), true), (2, "ok".to_owned(), false)]
        );
        assert_eq!(rejects.bytes(), b"123456789\n");
        splitter.push(b"99999", &mut rejects);
        splitter.end(&mut rejects);
        assert_eq!(rejects.bytes(), b"123456789\n99999\n");
    }
}
