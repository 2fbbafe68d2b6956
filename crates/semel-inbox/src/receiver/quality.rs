//! Whether ids look as if they were made anew for each delivery, so that no duplicate can ever be recognised.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use semel_core::inbox::{Message, Receipt};
use semel_core::{Digest, Fingerprint};
use tokio::time::Instant;

/// How many payloads are remembered.
const REMEMBERED_MAX: usize = 512;
/// So many suspicions make a warning.
const SUSPICIONS: u32 = 3;
/// How long a consumer is not warned of again.
const QUIET: Duration = Duration::from_secs(60 * 60);
/// The years in which a number of seconds is taken for a time: 2001 to 2065.
const SECONDS: std::ops::Range<u64> = 1_000_000_000..3_000_000_000;

/// Looks at the ids of one consumer.
#[derive(Debug, Default)]
pub(super) struct Quality {
    payloads: HashMap<Fingerprint, Digest>,
    order: VecDeque<Fingerprint>,
    suspicions: u32,
    warned: Option<Instant>,
}

impl Quality {
    /// Looks at one message; warns, but seldom.
    pub(super) fn look(&mut self, message: &Message, receipt: Receipt) {
        // What was recognised has an id that is good for something.
        if !matches!(receipt, Receipt::Stored { .. }) {
            return;
        }
        let id = message.identity().key().as_str();
        let why = match (is_time(id), self.is_known_payload(message)) {
            (true, _) => "they look like times",
            (_, true) => "the same payload comes under different ones",
            (false, false) => return,
        };
        self.suspicions += 1;
        let quiet = self.warned.is_some_and(|at| at.elapsed() < QUIET);
        if self.suspicions >= SUSPICIONS && !quiet {
            self.suspicions = 0;
            self.warned = Some(Instant::now());
            let consumer = message.identity().scope();
            tracing::warn!(
                %consumer,
                why,
                "message ids look as if they were made for each delivery; duplicates will not be recognised. \
                 The id must be the producer's and the same each time"
            );
        }
    }

    #[cfg(test)]
    fn has_warned(&self) -> bool {
        self.warned.is_some()
    }

    fn is_known_payload(&mut self, message: &Message) -> bool {
        let (fingerprint, digest) = (message.fingerprint(), message.identity().digest());
        if let Some(known) = self.payloads.get(&fingerprint) {
            return *known != digest;
        }
        if self.order.len() >= REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.payloads.remove(&oldest);
        }
        self.order.push_back(fingerprint);
        self.payloads.insert(fingerprint, digest);
        false
    }
}

/// Whether an id is a time: seconds, milli-, micro- or nanoseconds since 1970, or a date of RFC 3339.
fn is_time(id: &str) -> bool {
    if id.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = match id.len() {
            10 | 13 | 16 | 19 => id[..10].parse().unwrap_or(0),
            _ => 0,
        };
        return SECONDS.contains(&seconds);
    }
    let shape = |byte: u8| match byte {
        b'0'..=b'9' => b'9',
        other => other,
    };
    let start: Vec<u8> = id.bytes().take(16).map(shape).collect();
    matches!(&start[..], b"9999-99-99T99:99" | b"9999-99-99 99:99")
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::Identity;
    use semel_core::inbox::State;

    const NEW: Receipt = Receipt::Stored {
        state: State::Received,
    };

    fn message(id: &str, payload: &'static str) -> Message {
        let identity = Identity::parse("public", "mailer", id).unwrap();
        Message::new(identity, payload).unwrap()
    }

    #[test]
    fn times_are_told_from_ids() {
        for time in [
            "1731750000",
            "1731750000123",
            "2026-11-16T10:00:00Z",
            "2026-11-16 10:00:00",
        ] {
            assert!(is_time(time), "{time}");
        }
        for id in ["evt_1", "17", "4000000000", "12345678901", "2026-11-16"] {
            assert!(!is_time(id), "{id}");
        }
    }

    #[tokio::test]
    async fn the_same_payload_under_ever_new_ids_is_warned_of_once() {
        let mut quality = Quality::default();
        for id in ["a", "b", "c"] {
            quality.look(&message(id, "same"), NEW);
        }
        assert!(!quality.has_warned());
        quality.look(&message("d", "same"), NEW);
        assert!(quality.has_warned());
    }

    #[tokio::test]
    async fn good_ids_raise_no_suspicion() {
        let mut quality = Quality::default();
        let known = Receipt::Duplicate {
            state: State::Completed,
        };
        for _ in 0..10 {
            quality.look(&message("a", "same"), NEW);
            quality.look(&message("a", "same"), known);
        }
        assert_eq!(quality.suspicions, 0);
    }
}
