//! What people are told about an operation besides its identity: what was asked, and, of an unknown outcome, what is known.
//!
//! Both are short texts of one line that stores keep with the record. They decide nothing.

use std::fmt;
use std::time::Duration;

use crate::duration;

/// The most bytes of [`About`].
pub const ABOUT_BYTES_MAX: usize = 255;
/// The most bytes of an error in [`Evidence`].
pub const ERROR_BYTES_MAX: usize = 300;

/// What was asked, in one line for people: `POST /payments`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct About(Box<str>);

impl About {
    /// The text in one line, cut at [`ABOUT_BYTES_MAX`]; `None` if nothing is left of it.
    pub fn new(text: &str) -> Option<Self> {
        let line = one_line(text, ABOUT_BYTES_MAX);
        (!line.is_empty()).then(|| Self(line.into()))
    }

    /// The line.
    pub const fn as_str(&self) -> &str {
        &self.0
    }

    /// The method, of what was asked over HTTP.
    pub fn method(&self) -> Option<&str> {
        method_of(&self.0)
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first word of a line, if it is written as methods are.
pub(crate) fn method_of(line: &str) -> Option<&str> {
    let (method, _) = line.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    is_method.then_some(method)
}

/// What the owner of a run could still say when it could not say what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// The status that the service answered with.
    pub status: Option<u16>,
    /// What went wrong, in one line of at most [`ERROR_BYTES_MAX`] bytes.
    error: Option<Box<str>>,
    /// How long after the run began.
    pub after: Duration,
}

impl Evidence {
    /// What is known `after` the run began; an error is cut to one short line.
    pub fn new(status: Option<u16>, error: Option<&str>, after: Duration) -> Self {
        let error = error.map(|error| one_line(error, ERROR_BYTES_MAX));
        Self {
            status,
            error: error.filter(|error| !error.is_empty()).map(Into::into),
            after: Duration::from_millis(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// One line for stores: milliseconds, status or `-`, error.
    pub fn encode(&self) -> String {
        let status = self.status.map_or("-".to_owned(), |s| s.to_string());
        let error = self.error().unwrap_or_default();
        format!("{} {status} {error}", self.after.as_millis())
    }

    /// The inverse of [`Evidence::encode`]; `None` for what it did not write.
    pub fn decode(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let after = parts.next()?.parse().map(Duration::from_millis).ok()?;
        let status = match parts.next()? {
            "-" => None,
            status => Some(status.parse().ok()?),
        };
        let error = parts.next().filter(|error| !error.is_empty());
        Some(Self::new(status, error, after))
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = duration::show(self.after);
        match (self.status, self.error()) {
            (Some(status), None) => write!(f, "{status} from the upstream after {after}"),
            (Some(status), Some(error)) => {
                write!(f, "{status} from the upstream after {after}: {error}")
            }
            (None, Some(error)) => write!(f, "{error}, after {after}"),
            (None, None) => write!(f, "no answer after {after}"),
        }
    }
}

/// The text without control characters and line ends, cut at a character within `bytes_max`.
fn one_line(text: &str, bytes_max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(bytes_max));
    for word in text
        .split(|c: char| c.is_control())
        .flat_map(|part| part.split_whitespace())
    {
        let space = usize::from(!line.is_empty());
        let room = bytes_max.saturating_sub(line.len() + space);
        let end = word.floor_char_boundary(room.min(word.len()));
        if end == 0 {
            break;
        }
        if space == 1 {
            line.push(' ');
        }
        line.push_str(&word[..end]);
        if end < word.len() {
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_one_line_of_bounded_length() {
        let about = |text: &str| About::new(text).map(|about| about.to_string());
        assert_eq!(about("POST /payments").as_deref(), Some("POST /payments"));
        assert_eq!(
            about("POST\r\n /a\u{1b}[1m").as_deref(),
            Some("POST /a [1m")
        );
        assert_eq!(about(" \n"), None);
        let long = about(&format!("PUT /{}", "é".repeat(400))).unwrap();
        assert!((ABOUT_BYTES_MAX - 1..=ABOUT_BYTES_MAX).contains(&long.len()));
    }

    #[test]
    fn the_method_is_the_first_word_in_capitals() {
        let method = |text: &str| About::new(text).unwrap().method().map(str::to_owned);
        assert_eq!(method("PATCH /orders/1").as_deref(), Some("PATCH"));
        assert_eq!(method("charge order"), None);
        assert_eq!(method("POST"), None);
    }

    #[test]
    fn evidence_is_read_as_it_was_written_and_says_what_happened() {
        let minute = Duration::from_secs(60);
        for (status, error, said) in [
            (Some(504), None, "504 from the upstream after 1m"),
            (None, Some("connection reset"), "connection reset, after 1m"),
            (
                Some(500),
                Some("cut off"),
                "500 from the upstream after 1m: cut off",
            ),
            (None, None, "no answer after 1m"),
        ] {
            let evidence = Evidence::new(status, error, minute);
            assert_eq!(evidence.to_string(), said);
            assert_eq!(Evidence::decode(&evidence.encode()), Some(evidence));
        }
        let long = Evidence::new(None, Some(&"x\n".repeat(1_000)), minute);
        assert!(long.error().unwrap().len() <= ERROR_BYTES_MAX);
        for wrong in ["", "soon - x", "1", "1 many x"] {
            assert_eq!(Evidence::decode(wrong), None, "{wrong}");
        }
    }
}
