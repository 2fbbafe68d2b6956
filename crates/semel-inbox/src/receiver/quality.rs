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

/// Why an id looks as if it were made for each delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suspicion {
    /// It is a time.
    Time,
    /// Its payload came under another id.
    Payload,
}

impl Suspicion {
    /// What an id by itself gives reason for.
    pub fn of(id: &str) -> Option<Self> {
        is_time(id).then_some(Self::Time)
    }

    /// The label of metrics.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Payload => "payload",
        }
    }

    /// The same in words.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Time => "they look like times",
            Self::Payload => "the same payload comes under different ones",
        }
    }
}

/// Compares the ids of one consumer's new messages. Only the latest payloads are remembered.
#[derive(Debug, Default)]
pub struct Ids {
    payloads: HashMap<Fingerprint, Digest>,
    order: VecDeque<Fingerprint>,
}

impl Ids {
    /// Why the id of a message is suspected, if it is. What could not be read has no id of its own, and is not.
    pub fn suspect(&mut self, message: &Message) -> Option<Suspicion> {
        if message.unreadable().is_some() {
            return None;
        }
        let is_known = self.is_known_payload(message);
        let by_itself = Suspicion::of(message.identity().key().as_str());
        by_itself.or(is_known.then_some(Suspicion::Payload))
    }

    fn is_known_payload(&mut self, message: &Message) -> bool {
        // Deletions and signals have no payload, and each is a message of its own.
        if message.payload().is_empty() {
            return false;
        }
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

/// Looks at the ids of one consumer, and warns.
#[derive(Debug, Default)]
pub(super) struct Quality {
    ids: Ids,
    suspicions: u32,
    warned: Option<Instant>,
}

impl Quality {
    /// Looks at one message; warns, but seldom. Why its id is suspected, if it is.
    pub(super) fn look(&mut self, message: &Message, receipt: Receipt) -> Option<Suspicion> {
        // What was recognised has an id that is good for something.
        if !matches!(receipt, Receipt::Stored { .. }) {
            return None;
        }
        let suspicion = self.ids.suspect(message)?;
        self.suspicions += 1;
        let quiet = self.warned.is_some_and(|at| at.elapsed() < QUIET);
        if self.suspicions >= SUSPICIONS && !quiet {
            self.suspicions = 0;
            self.warned = Some(Instant::now());
            tracing::warn!(
                consumer = %message.identity().scope(),
                why = suspicion.why(),
                "message ids look as if they were made for each delivery; duplicates will not be recognised. \
                 The id must be the producer's and the same each time"
            );
        }
        Some(suspicion)
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

    fn message(id: &str, payload: &str) -> Message {
        let identity = Identity::parse("public", "mailer", id).unwrap();
        Message::new(identity, payload.to_owned()).unwrap()
    }

    #[test]
    fn times_are_told_from_ids() {
        let table = [
            ("1731750000", true),
            ("1731750000123", true),
            ("1731750000123456", true),
            ("1731750000123456789", true),
            ("2026-11-16T10:00:00Z", true),
            ("2026-11-16T10:00:00.123456+01:00", true),
            ("2026-11-16 10:00:00", true),
            ("evt_1", false),
            ("17", false),
            ("4000000000", false),
            ("0999999999", false),
            ("12345678901", false),
            ("17317500001234", false),
            ("2026-11-16", false),
            ("2026-11-16#17", false),
            ("0191b8f0-7d3c-7e2a-9c1b-2f6f3f8f6a10", false),
        ];
        for (id, expected) in table {
            assert_eq!(is_time(id), expected, "{id}");
        }
    }

    #[test]
    fn ids_are_suspected_for_a_reason() {
        let unreadable = message("1731750000", "x").as_unreadable("no id");
        let table = [
            // An id per attempt: the payload comes again, the id does not.
            (message("0b3c5a8e-1", "pay 1"), None),
            (message("77d1e0c2-2", "pay 1"), Some(Suspicion::Payload)),
            (message("0b3c5a8e-1", "pay 1"), None),
            (message("order-2", "pay 2"), None),
            (message("1731750000123", "pay 3"), Some(Suspicion::Time)),
            (message("1731750000124", "pay 3"), Some(Suspicion::Time)),
            // Deletions look alike, and each has an id of its own.
            (message("order-4", ""), None),
            (message("order-5", ""), None),
            (unreadable, None),
        ];
        let mut ids = Ids::default();
        for (message, expected) in table {
            assert_eq!(ids.suspect(&message), expected, "{message:?}");
        }
    }

    #[test]
    fn only_the_latest_payloads_are_remembered() {
        let mut ids = Ids::default();
        for number in 0..=REMEMBERED_MAX {
            let text = number.to_string();
            assert_eq!(ids.suspect(&message(&text, &text)), None);
        }
        assert_eq!(ids.payloads.len(), REMEMBERED_MAX);
        assert_eq!(ids.suspect(&message("x", "0")), None);
        assert_eq!(ids.suspect(&message("y", "2")), Some(Suspicion::Payload));
    }

    #[tokio::test(start_paused = true)]
    async fn a_consumer_is_warned_of_after_some_suspicions_and_not_again_soon() {
        let mut quality = Quality::default();
        let mut id = 0;
        let mut look = |quality: &mut Quality, times| {
            for _ in 0..times {
                id += 1;
                quality.look(&message(&id.to_string(), "same"), NEW);
            }
        };
        look(&mut quality, SUSPICIONS);
        assert_eq!(quality.warned, None);
        look(&mut quality, 1);
        let first = quality.warned.unwrap();
        look(&mut quality, SUSPICIONS);
        assert_eq!(quality.warned, Some(first));
        tokio::time::advance(QUIET).await;
        look(&mut quality, 1);
        assert!(quality.warned > Some(first));
    }

    #[tokio::test]
    async fn ids_that_are_recognised_raise_no_suspicion() {
        let mut quality = Quality::default();
        let known = Receipt::duplicate(State::Completed);
        for receipt in [NEW, known, Receipt::Conflict, known] {
            assert_eq!(quality.look(&message("a", "same"), receipt), None);
        }
        for receipt in [known, Receipt::Conflict] {
            assert_eq!(quality.look(&message("b", "same"), receipt), None);
        }
    }
}
