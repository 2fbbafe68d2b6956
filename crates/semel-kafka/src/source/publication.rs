//! What is published in one transaction with a commit.

use std::sync::Arc;

use bytes::Bytes;
use semel_inbox::source::HeaderField;

use super::state::At;

/// A message that is published if, and only if, the offset of the delivery that caused it is committed.
#[derive(Clone)]
pub(crate) struct Publication {
    pub(crate) topic: Arc<str>,
    /// Without one the key decides, as Java's producers do.
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Bytes>,
    pub(crate) headers: Vec<HeaderField>,
    pub(crate) payload: Option<Bytes>,
}

/// A publication and the partition whose delivery caused it.
pub(super) struct Queued {
    pub(super) at: At,
    /// Which assignment of it: of an earlier one nothing is published.
    pub(super) epoch: u64,
    pub(super) publication: Publication,
    /// Whether the broker refused it, perhaps because of others in the same batch: it is sent alone from then on.
    pub(super) is_suspect: bool,
}

/// What fits into a topic whose bound is Kafka's default of 1 MiB.
const CUT: usize = 64 * 1024;
/// The most that is kept of a key, and of headers that are not ours, in what is cut.
const CUT_HEADERS: usize = 16 * 1024;
/// What begins the names of headers that say why a message is a dead letter.
const OURS: &str = "semel-dead-letter-";

impl Publication {
    /// A dead letter in place of one that the broker refuses for its size or content: its beginning, or, if that is refused too, no more than why.
    /// Nothing if there is nothing left to leave out.
    pub(super) fn instead(&self, dead: &Arc<str>, why: &str) -> Option<Self> {
        let (payload_max, headers_max) = match self.bytes() {
            bytes if bytes > 2 * CUT => (CUT, CUT_HEADERS),
            _ if !self.is_bare() => (0, 0),
            _ => return None,
        };
        let note = |name: &str, value: String| (format!("{OURS}{name}"), Some(value.into()));
        let mut headers: Vec<HeaderField> = Vec::new();
        if self.topic != *dead {
            headers.push(note("cause", "unpublishable".to_owned()));
            headers.push(note("error", why.to_owned()));
            headers.push(note("target", self.topic.to_string()));
        }
        let size = self.payload.as_ref().map_or(0, Bytes::len);
        if !self
            .headers
            .iter()
            .any(|(name, _)| name == "semel-dead-letter-cut")
        {
            headers.push(note("cut", size.to_string()));
        }
        let mut left = headers_max;
        for (name, value) in &self.headers {
            let bytes = name.len() + value.as_ref().map_or(0, Bytes::len);
            let is_kept = name.starts_with(OURS) || bytes <= left;
            if is_kept {
                left = left.saturating_sub(bytes);
                headers.push((
                    name.clone(),
                    value.clone().map(|v| v.slice(..v.len().min(CUT_HEADERS))),
                ));
            }
        }
        Some(Self {
            topic: dead.clone(),
            partition: None,
            key: self.key.clone().filter(|key| key.len() <= headers_max),
            headers,
            payload: self
                .payload
                .as_ref()
                .map(|all| all.slice(..all.len().min(payload_max))),
        })
    }

    fn bytes(&self) -> usize {
        let headers = self.headers.iter();
        let headers =
            headers.map(|(name, value)| name.len() + value.as_ref().map_or(0, Bytes::len));
        let parts = [&self.key, &self.payload].map(|part| part.as_ref().map_or(0, Bytes::len));
        headers.sum::<usize>() + parts.iter().sum::<usize>()
    }

    /// Whether it has nothing but what says why it is a dead letter.
    fn is_bare(&self) -> bool {
        let has_payload = self
            .payload
            .as_ref()
            .is_some_and(|payload| !payload.is_empty());
        let is_ours = self.headers.iter().all(|(name, _)| name.starts_with(OURS));
        !has_payload && self.key.is_none() && is_ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_cut_step_by_step_until_only_the_reason_is_left() {
        let dead: Arc<str> = "dead".into();
        let whole = Publication {
            topic: "out".into(),
            partition: Some(3),
            key: Some(Bytes::from(vec![1; 20_000])),
            headers: vec![("a".to_owned(), Some("b".into()))],
            payload: Some(Bytes::from(vec![7; 2_000_000])),
        };
        let cut = whole.instead(&dead, "too large").unwrap();
        assert_eq!(
            (&*cut.topic, cut.partition, &cut.key),
            ("dead", None, &None)
        );
        assert_eq!(cut.payload.as_ref().unwrap().len(), CUT);
        let names: Vec<&str> = cut.headers.iter().map(|(name, _)| &name[..]).collect();
        let expected = ["cause", "error", "target", "cut"].map(|name| format!("{OURS}{name}"));
        assert_eq!(names[..4], expected);
        assert_eq!(names[4..], ["a"]);
        let bare = cut.instead(&dead, "too large").unwrap();
        assert_eq!(bare.payload.as_deref(), Some(&b""[..]));
        assert_eq!(bare.headers.len(), 4);
        assert!(bare.instead(&dead, "too large").is_none());
    }
}
