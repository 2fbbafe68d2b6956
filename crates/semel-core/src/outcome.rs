//! What a run brought: the canonical result that every duplicate gets, byte for byte.
//!
//! Limits are checked here, when an outcome is made, so that a store can never meet
//! one that it must refuse after the effect has happened.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::clock::Timestamp;
use crate::error::{Error, Kind, Result};

/// The largest body that a store keeps, in bytes.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most headers that an outcome carries.
pub const HEADERS_MAX: usize = 256;
/// The most bytes of header names and values together.
pub const HEADER_BYTES_MAX: usize = 64 * 1024;

/// The header that stands in the place of all others in an outcome or a message whose contents are sealed. No header of HTTP can have this name.
pub const SEALED: &str = ":sealed";
/// The header that stands in the place of all others in an outcome that this process cannot open, with the reason for operators. Such an outcome is no answer
/// for callers: another process, or a restored key, can open it.
pub const LOCKED: &str = ":locked";

/// Whether the run did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It did.
    Succeeded,
    /// It did not, and trying again would not change that.
    Failed,
}

impl Verdict {
    /// The lowercase name used in SQL, JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// The body of an outcome, or what is left of it.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// All bytes.
    Kept(Bytes),
    /// Only length and digest: the body was above the cap or was not to be kept.
    Omitted {
        /// How many bytes the body had.
        len: u64,
        /// BLAKE3 of the body; lists leave it out.
        digest: Option<[u8; 32]>,
    },
}

impl Body {
    /// No bytes at all.
    pub const fn empty() -> Self {
        Self::Kept(Bytes::new())
    }

    /// Keeps `bytes` up to `bytes_max`; of a longer body only length and digest.
    pub fn capped(bytes: Bytes, bytes_max: usize) -> Self {
        if bytes.len() <= bytes_max.min(BODY_BYTES_MAX) {
            Self::Kept(bytes)
        } else {
            Self::omitted(&bytes)
        }
    }

    /// Keeps only length and digest.
    pub fn omitted(bytes: &[u8]) -> Self {
        Self::Omitted {
            len: bytes.len() as u64,
            digest: Some(*blake3::hash(bytes).as_bytes()),
        }
    }

    /// The same body without its bytes, for lists.
    #[must_use]
    pub const fn left_out(&self) -> Self {
        Self::Omitted {
            len: self.len(),
            digest: None,
        }
    }

    /// The bytes, if they were kept.
    pub const fn kept(&self) -> Option<&Bytes> {
        match self {
            Self::Kept(bytes) => Some(bytes),
            Self::Omitted { .. } => None,
        }
    }

    /// How many bytes the body had, kept or not.
    pub const fn len(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::Omitted { len, .. } => *len,
        }
    }

    /// Whether the body had no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// BLAKE3 of the body, kept or not; `None` for a body that a list left out.
    pub fn digest(&self) -> Option<[u8; 32]> {
        match self {
            Self::Kept(bytes) => Some(*blake3::hash(bytes).as_bytes()),
            Self::Omitted { digest, .. } => *digest,
        }
    }
}

impl fmt::Debug for Body {
    /// Payloads never reach logs: only the length shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept(bytes) => write!(f, "Kept({} bytes)", bytes.len()),
            Self::Omitted { len, .. } => write!(f, "Omitted({len} bytes)"),
        }
    }
}

/// Header fields in their order, repeats kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Bytes)>);

impl Headers {
    /// The fields in the given order.
    pub fn new(fields: Vec<(String, Bytes)>) -> Result<Self> {
        let bytes: usize = fields.iter().map(|(n, v)| n.len() + v.len()).sum();
        if fields.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
            return Err(Error::new(
                Kind::Limit,
                format!(
                    "an outcome keeps at most {HEADERS_MAX} headers of {HEADER_BYTES_MAX} bytes \
                     together, found {} of {bytes}",
                    fields.len()
                ),
            ));
        }
        Ok(Self(fields))
    }

    /// Those of the fields that fit, in the given order: for outcomes of effects that have happened, of which a record
    /// without some of a response's headers is better than none. What `comes_first` says so of has the room first.
    pub fn fitting(fields: Vec<(String, Bytes)>, comes_first: impl Fn(&str) -> bool) -> Self {
        let (mut count, mut bytes) = (0, 0);
        let mut fits = |(name, value): &(String, Bytes)| {
            let size = name.len() + value.len();
            let fits = count < HEADERS_MAX && size <= HEADER_BYTES_MAX - bytes;
            if fits {
                (count, bytes) = (count + 1, bytes + size);
            }
            fits
        };
        let first: Vec<bool> = fields.iter().map(|(name, _)| comes_first(name)).collect();
        let mut kept = vec![false; fields.len()];
        for turn in [true, false] {
            let these = (0..fields.len()).filter(|at| first[*at] == turn);
            these.for_each(|at| kept[at] = fits(&fields[at]));
        }
        let fields = fields.into_iter().zip(kept).filter(|(_, kept)| *kept);
        Self(fields.map(|(field, _)| field).collect())
    }

    /// The same fields with this value in the place of all of its name, whatever their case; without them if there is none. If there is no
    /// room for it, the fields stay as they were.
    #[must_use]
    pub fn with(&self, name: &str, value: Option<Bytes>) -> Self {
        let others = self.0.iter();
        let others = others.filter(|(known, _)| !known.eq_ignore_ascii_case(name));
        let mut fields: Vec<_> = others.cloned().collect();
        fields.extend(value.map(|value| (name.to_owned(), value)));
        Self::new(fields).unwrap_or_else(|_| self.clone())
    }

    /// The fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether these stand for headers that are sealed.
    pub fn are_sealed(&self) -> bool {
        self.0.iter().any(|(name, _)| name == SEALED)
    }

    /// Why headers that are sealed cannot be opened by this process, if these stand for such.
    pub fn locked(&self) -> Option<&Bytes> {
        let mut fields = self.0.iter();
        fields.find_map(|(name, value)| (name == LOCKED).then_some(value))
    }

    /// How many fields there are, repeats counted.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One compact byte string for stores: count, then length-prefixed names and values.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in &self.0 {
            for part in [name.as_bytes(), value] {
                // Both lengths are below HEADER_BYTES_MAX, which a u32 always holds.
                out.extend_from_slice(&(part.len() as u32).to_le_bytes());
                out.extend_from_slice(part);
            }
        }
        out
    }

    /// The inverse of [`Headers::encode`].
    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let name = String::from_utf8(take_part(&mut bytes)?.to_vec())
                .map_err(|e| Error::new(Kind::Damaged, "header name is not text").caused_by(e))?;
            fields.push((name, Bytes::copy_from_slice(take_part(&mut bytes)?)));
        }
        Self::new(fields)
    }
}

fn take_part<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let cut = || Error::new(Kind::Damaged, "stored headers end in the middle of a field");
    let (len, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let len = u32::from_le_bytes(*len) as usize;
    let (part, rest) = rest.split_at_checked(len).ok_or_else(cut)?;
    *bytes = rest;
    Ok(part)
}

impl fmt::Debug for Headers {
    /// Values may hold secrets: only the names show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(n, _)| n))
            .finish()
    }
}

/// The canonical result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the run did what was asked.
    pub verdict: Verdict,
    /// The HTTP status, or 0 where there is none.
    pub status: u16,
    /// Header fields in their order.
    pub headers: Headers,
    /// The result itself.
    pub body: Body,
}

impl Outcome {
    /// Success with a body and no HTTP status.
    pub fn succeeded(body: impl Into<Bytes>) -> Self {
        Self::plain(Verdict::Succeeded, body.into())
    }

    /// Failure with a body and no HTTP status.
    pub fn failed(body: impl Into<Bytes>) -> Self {
        Self::plain(Verdict::Failed, body.into())
    }

    fn plain(verdict: Verdict, body: Bytes) -> Self {
        Self {
            verdict,
            status: 0,
            headers: Headers::default(),
            body: Body::capped(body, BODY_BYTES_MAX),
        }
    }
}

impl Outcome {
    /// The same outcome; of a body above `bytes_max` only length and digest.
    #[must_use]
    pub fn capped(mut self, bytes_max: usize) -> Self {
        if let Body::Kept(bytes) = self.body {
            self.body = Body::capped(bytes, bytes_max);
        }
        self
    }

    /// The same outcome without its contents: verdict, status, and the body's length and digest are left.
    #[must_use]
    pub fn without_contents(&self) -> Self {
        Self {
            verdict: self.verdict,
            status: self.status,
            headers: Headers::default(),
            body: Body::Omitted {
                len: self.body.len(),
                digest: self.body.digest(),
            },
        }
    }
}

/// An outcome that is on record, with when and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The canonical result.
    pub outcome: Outcome,
    /// When it was settled, by the store's clock. Retention starts here.
    pub at: Timestamp,
    /// How long the run took.
    pub took: Duration,
    /// When retention ends.
    pub expires_at: Timestamp,
    /// Whether the record is archived rather than deleted when retention ends.
    pub archive: bool,
    /// Whether a decision about an unknown outcome put it on record, rather than the run itself.
    pub resolved: bool,
    /// Whether the contents of the outcome were erased: headers, the body, and what was asked.
    pub erased: bool,
}

impl Settled {
    /// The same without contents, kept for as long.
    #[must_use]
    pub fn without_contents(&self) -> Self {
        Self {
            outcome: self.outcome.without_contents(),
            erased: true,
            ..self.clone()
        }
    }

    /// Whether this is `outcome` on record, or what an erasure has left of it.
    pub fn is_of(&self, outcome: &Outcome) -> bool {
        self.outcome == *outcome || self.erased && self.outcome == outcome.without_contents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_keep_order_and_repeats_through_encoding() {
        let fields = [("Set-Cookie", "a=1"), ("X", ""), ("Set-Cookie", "b=2")];
        let fields = fields.map(|(n, v)| (n.to_owned(), Bytes::from(v)));
        let headers = Headers::new(fields.to_vec()).unwrap();
        assert_eq!(Headers::decode(&headers.encode()).unwrap(), headers);
    }

    #[test]
    fn a_header_that_does_not_fit_drops_only_itself() {
        let field = |name: &str, len: usize| (name.to_owned(), Bytes::from(vec![b'x'; len]));
        let names = |fields: Vec<(String, Bytes)>| {
            let headers = Headers::fitting(fields, |name| name == "location");
            assert!(Headers::new(headers.0.clone()).is_ok());
            headers
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect::<Vec<_>>()
        };
        let large = field("large", HEADER_BYTES_MAX);
        assert_eq!(names(vec![field("a", 1), large, field("b", 1)]), ["a", "b"]);
        let most = field("most", HEADER_BYTES_MAX - 8);
        assert_eq!(
            names(vec![most, field("location", 9), field("a", 1)]),
            ["location", "a"]
        );
        let mut many: Vec<_> = (0..HEADERS_MAX).map(|_| field("a", 1)).collect();
        many.push(field("location", 1));
        let kept = names(many);
        assert_eq!(
            (kept.len(), kept.last().map(String::as_str)),
            (HEADERS_MAX, Some("location"))
        );
    }

    #[test]
    fn one_field_takes_the_place_of_all_of_its_name_if_it_fits() {
        let fields = [("A", "1"), ("b", "2"), ("a", "3")];
        let fields = fields.map(|(n, v)| (n.to_owned(), Bytes::from(v)));
        let headers = Headers::new(fields.to_vec()).unwrap();
        let shown = |headers: &Headers| {
            let shown = headers.iter();
            let shown = shown.map(|(name, value)| format!("{name}={}", value.escape_ascii()));
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&headers.with("a", Some("4".into()))), "b=2 a=4");
        assert_eq!(shown(&headers.with("a", None)), "b=2");
        let large = Bytes::from(vec![0; HEADER_BYTES_MAX]);
        assert_eq!(headers.with("a", Some(large)), headers);
    }

    #[test]
    fn cut_headers_are_damage_and_not_a_panic() {
        let headers = Headers::new(vec![("name".into(), "value".into())]).unwrap();
        let bytes = headers.encode();
        for cut in 1..bytes.len() {
            let error = Headers::decode(&bytes[..cut]).unwrap_err();
            assert_eq!(error.kind(), Kind::Damaged, "cut at {cut}");
        }
    }

    #[test]
    fn a_body_above_the_cap_keeps_length_and_digest() {
        let bytes = Bytes::from_static(b"12345");
        assert_eq!(Body::capped(bytes.clone(), 5), Body::Kept(bytes.clone()));
        let omitted = Body::capped(bytes.clone(), 4);
        assert_eq!(omitted.kept(), None);
        assert_eq!(
            (omitted.len(), omitted.digest()),
            (5, Body::Kept(bytes).digest())
        );
    }

    #[test]
    fn debug_shows_neither_body_nor_header_values() {
        let mut outcome = Outcome::succeeded("secret-body");
        outcome.headers = Headers::new(vec![("X-Token".into(), "secret".into())]).unwrap();
        assert!(!format!("{outcome:?}").contains("secret"));
    }
}
