//! What ran moments ago, to notice a client that makes a new key for every retry: no store can tell its requests from new ones.
//!
//! A fixed number of places, each with the latest request that falls on it. A request that is overwritten is not noticed, so what is counted is
//! a lower bound; it costs one short lock per run and no allocation.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use semel_core::{Fingerprint, Identity};
use tokio::time::Instant;

/// How long two equal requests with different keys are put down to one client.
const WINDOW: Duration = Duration::from_secs(30);
/// How many requests are remembered; made when the first one is.
const PLACES: usize = 1_024;

/// The requests that one guard ran in the last moments.
#[derive(Debug, Default)]
pub(super) struct Recent {
    hash: RandomState,
    /// A std mutex, not an async one: it is held to look at one place.
    places: Mutex<Vec<Option<Ran>>>,
}

/// A request that ran: only hashes of it, because one that is mistaken for another costs no more than a wrong count.
#[derive(Debug, Clone, Copy)]
struct Ran {
    content: u64,
    key: u64,
    at: Instant,
}

impl Recent {
    /// Remembers a request that ran; how long ago the same caller asked for the same under another key.
    pub(super) fn see(
        &self,
        identity: &Identity,
        fingerprint: Fingerprint,
        now: Instant,
    ) -> Option<Duration> {
        // Without a fingerprint all requests of a caller are alike.
        if fingerprint == Fingerprint::none() {
            return None;
        }
        let ran = Ran {
            content: self.hash.hash_one((identity.tenant(), fingerprint)),
            key: self.hash.hash_one(identity.key()),
            at: now,
        };
        // Each place is written whole, so a poisoned lock protects nothing.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.is_empty() {
            places.resize(PLACES, None);
        }
        let at = usize::try_from(ran.content % PLACES as u64).unwrap_or(0);
        let before = places[at].replace(ran)?;
        let age = now.saturating_duration_since(before.at);
        let is_same = before.content == ran.content && before.key != ran.key;
        (is_same && age <= WINDOW).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_key_of_the_same_caller_within_the_window_is_noticed() {
        let (recent, began) = (Recent::default(), Instant::now());
        let (pay, other) = (Fingerprint::of_bytes(b"1"), Fingerprint::of_bytes(b"2"));
        let second = Duration::from_secs(1);
        // Seconds, caller, key, request; how long ago the same request had another key.
        let steps = [
            (0, "acme", "a", pay, None),
            (1, "acme", "a", pay, None),
            (2, "acme", "b", pay, Some(second)),
            (3, "other", "c", pay, None),
            (4, "acme", "d", other, None),
            (33, "acme", "e", pay, None),
            (34, "acme", "f", Fingerprint::none(), None),
            (35, "acme", "g", Fingerprint::none(), None),
        ];
        for (at, tenant, key, print, expected) in steps {
            let identity = Identity::parse(tenant, "pay", key).unwrap();
            let now = began + Duration::from_secs(at);
            assert_eq!(recent.see(&identity, print, now), expected, "{at} {key}");
        }
    }
}
