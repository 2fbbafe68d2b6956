//! What the service's answers mean for the record, by status.

use std::fmt;
use std::str::FromStr;

use http::StatusCode;
use semel_core::{Error, Result};

/// What an answer means for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It is final: duplicates get it too.
    Keep,
    /// Nothing happened: the next attempt runs.
    Release,
    /// It may have happened.
    Unknown,
}

/// Which statuses are final and which mean that nothing happened; all others leave the outcome unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Statuses that are final.
    pub statuses: StatusSet,
    /// Statuses that mean that nothing happened; they win over `statuses`.
    pub release: StatusSet,
    /// Statuses that mean so only with `Retry-After`, in which the service itself asks for another attempt. A proxy in
    /// front of it says 503 without the header when the service died half-way.
    pub release_with_retry_after: StatusSet,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            statuses: StatusSet::written(&["2xx", "3xx", "4xx", "500"]),
            release: StatusSet::written(&["401", "403", "408", "425", "429"]),
            release_with_retry_after: StatusSet::written(&["503"]),
        }
    }
}

impl Keep {
    /// What an answer with `status` means; `retry_after` is whether it has the header `Retry-After`.
    pub fn class(&self, status: StatusCode, retry_after: bool) -> Class {
        match status {
            status if self.release.contains(status) => Class::Release,
            status if retry_after && self.release_with_retry_after.contains(status) => {
                Class::Release
            }
            status if self.statuses.contains(status) => Class::Keep,
            _ => Class::Unknown,
        }
    }
}

/// A set of statuses, written as codes (`503`) and classes (`2xx`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusSet(Vec<Pattern>);

/// A code or a class of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One code.
    Code(u16),
    /// A hundred codes that begin with this digit.
    Hundred(u16),
}

impl StatusSet {
    /// The set of these patterns.
    pub const fn new(patterns: Vec<Pattern>) -> Self {
        Self(patterns)
    }

    /// The set that the code itself writes.
    pub(crate) fn written(patterns: &[&str]) -> Self {
        let parsed = patterns.iter().map(|pattern| pattern.parse());
        Self(parsed.collect::<Result<_>>().expect("patterns are valid"))
    }

    /// Whether `status` is one of them.
    pub fn contains(&self, status: StatusCode) -> bool {
        let code = status.as_u16();
        self.0.iter().any(|pattern| match pattern {
            Pattern::Code(one) => *one == code,
            Pattern::Hundred(digit) => *digit == code / 100,
        })
    }

    /// The patterns in the order they were given.
    pub fn patterns(&self) -> &[Pattern] {
        &self.0
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let code: Option<u16> = text.strip_suffix("xx").unwrap_or(text).parse().ok();
        match code {
            Some(digit @ 2..=5) if text.ends_with("xx") => Ok(Self::Hundred(digit)),
            Some(code @ 200..=599) if text.len() == 3 => Ok(Self::Code(code)),
            _ => Err(Error::invalid(format!(
                "a status is written 200 to 599, or 2xx to 5xx, found {text:?}"
            ))),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Hundred(digit) => write!(f, "{digit}xx"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_classes_are_those_of_the_design() {
        let keep = Keep::default();
        for (codes, without, with) in [
            (
                &[200, 201, 204, 302, 400, 404, 409, 422, 500][..],
                Class::Keep,
                Class::Keep,
            ),
            (&[401, 403, 408, 425, 429], Class::Release, Class::Release),
            (&[503], Class::Unknown, Class::Release),
            (&[501, 502, 504, 507, 599], Class::Unknown, Class::Unknown),
        ] {
            for code in codes {
                let status = StatusCode::from_u16(*code).unwrap();
                assert_eq!(keep.class(status, false), without, "{code}");
                assert_eq!(keep.class(status, true), with, "{code}");
            }
        }
    }

    #[test]
    fn patterns_are_codes_or_hundreds() {
        for text in ["2xx", "5xx", "200", "599", "418"] {
            assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
        }
        for text in [
            "", "xx", "1xx", "6xx", "20", "2000", "99", "600", "2XX", "+20", "0200",
        ] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }
}
