//! Splits Rust source into what is code and what is comment.
//!
//! Both views keep every line and column of the source: what does not belong to a
//! view is blank in it, and the contents of literals are blank in both. So a rule
//! can search the text without mistaking a string for code. This is a lexer of just
//! the tokens that can hide others, not a parser.

/// The two views of a source file.
pub(super) struct Source {
    pub(super) code: String,
    pub(super) comments: String,
}

impl Source {
    pub(super) fn read(text: &str) -> Self {
        let mut reader = Reader {
            chars: text.chars().collect(),
            at: 0,
            views: Self {
                code: String::with_capacity(text.len()),
                comments: String::with_capacity(text.len()),
            },
        };
        while reader.at < reader.chars.len() {
            let (kind, len) = reader.token();
            reader.take(kind, len);
        }
        reader.views
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    views: Source,
}

impl Reader {
    /// What begins here, and how many characters it is long.
    fn token(&self) -> (Kind, usize) {
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('/')) => (Kind::Comment, self.line_comment()),
            (Some('/'), Some('*')) => (Kind::Comment, self.block_comment()),
            (Some('"'), _) => (Kind::Literal, self.string()),
            (Some('r'), Some('"' | '#')) => match self.raw_string() {
                Some(len) => (Kind::Literal, len),
                None => (Kind::Code, 1),
            },
            (Some('\''), _) => match self.char_literal() {
                Some(len) => (Kind::Literal, len),
                None => (Kind::Code, 1),
            },
            _ => (Kind::Code, 1),
        }
    }

    fn take(&mut self, kind: Kind, len: usize) {
        let end = (self.at + len).min(self.chars.len());
        for &c in &self.chars[self.at..end] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            let shown = |in_view: bool| if in_view { c } else { blank };
            self.views.code.push(shown(kind == Kind::Code));
            self.views.comments.push(shown(kind == Kind::Comment));
        }
        self.at = end;
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn line_comment(&self) -> usize {
        let rest = self.chars[self.at..].iter();
        rest.take_while(|c| **c != '\n').count()
    }

    /// Block comments nest.
    fn block_comment(&self) -> usize {
        let (mut depth, mut len) = (0_usize, 0);
        while let Some(c) = self.peek(len) {
            match (c, self.peek(len + 1)) {
                ('/', Some('*')) => (depth, len) = (depth + 1, len + 2),
                ('*', Some('/')) => (depth, len) = (depth - 1, len + 2),
                _ => len += 1,
            }
            if depth == 0 {
                break;
            }
        }
        len
    }

    fn string(&self) -> usize {
        let mut len = 1;
        while let Some(c) = self.peek(len) {
            match c {
                '"' => return len + 1,
                '\\' => len += 2,
                _ => len += 1,
            }
        }
        len
    }

    /// An `r` before `#`s and a quote always begins a raw string: since edition 2021
    /// no identifier may end right before them.
    fn raw_string(&self) -> Option<usize> {
        let hashes = (1..).take_while(|at| self.peek(*at) == Some('#')).count();
        if self.peek(1 + hashes) != Some('"') {
            return None;
        }
        let mut len = 2 + hashes;
        while let Some(c) = self.peek(len) {
            len += 1;
            if c == '"' && (0..hashes).all(|at| self.peek(len + at) == Some('#')) {
                break;
            }
        }
        Some(len + hashes)
    }

    /// Nothing for a lifetime, which has no closing quote.
    fn char_literal(&self) -> Option<usize> {
        match (self.peek(1)?, self.peek(2)?) {
            ('\\', _) => {
                let closing = (3..).take_while(|at| self.peek(*at).is_some_and(|c| c != '\''));
                Some(3 + closing.count() + 1)
            }
            (_, '\'') => Some(3),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the words of both views, and that each stands where it stood.
    fn check(text: &str, code: &str, comments: &str) {
        let source = Source::read(text);
        for (view, expected) in [(&source.code, code), (&source.comments, comments)] {
            let words: Vec<&str> = view.split_whitespace().collect();
            assert_eq!(words.join(" "), expected, "{text}");
            assert_eq!(view.chars().count(), text.chars().count(), "{text}");
            let mut pairs = view.chars().zip(text.chars());
            assert!(pairs.all(|(seen, c)| seen == c || (seen == ' ' && c != '\n')));
        }
    }

    #[test]
    fn code_and_comments_are_told_apart() {
        check("a // b\nc", "a c", "// b");
        check("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */");
        check(r#"f("// x \" y", 1) // z"#, "f( , 1)", "// z");
        check(r##"r#"a " // b"# + c"##, "+ c", "");
        check(r#"br"\" + c"#, "b + c", "");
        check(r"'\'' + 'a' + '\u{7f}' + b", "+ + + b", "");
        check("&'a str + '\"' + r#fn", "&'a str + + r#fn", "");
        check("\"a\nb\" c", "c", "");
        check("\"ä\" + ö // ü", "+ ö", "// ü");
    }

    #[test]
    fn an_unfinished_token_ends_with_the_file() {
        for text in ["\"abc", "r#\"abc", "/* abc", "'\\", "'", "\"\\"] {
            let source = Source::read(text);
            assert_eq!(source.code.chars().count(), text.chars().count(), "{text}");
        }
    }
}
