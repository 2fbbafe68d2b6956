//! Keys that may have been meant.

use semel_core::{Key, Record};

/// The most that are named.
pub(crate) const MISSES_MAX: usize = 5;
/// The least of a key that tells which one was begun, in bytes.
const BEGINNING_MIN: usize = 4;

/// Of records, newest first, those whose keys are nearest to `asked`.
pub(crate) fn misses(asked: &Key, records: &[Record]) -> Vec<Record> {
    let mut found: Vec<(usize, &Record)> = records
        .iter()
        .filter_map(|record| Some((rank(asked.as_str(), record)?, record)))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.truncate(MISSES_MAX);
    found
        .into_iter()
        .map(|(_, record)| record.clone())
        .collect()
}

/// How near a record is; the lower, the nearer.
fn rank(asked: &str, record: &Record) -> Option<usize> {
    let key = record.identity.key().as_str();
    if key == asked {
        return None;
    }
    // What listings and logs print may be pasted as it is.
    if record.identity.to_string() == asked {
        return Some(0);
    }
    if plain(key) == plain(asked) {
        return Some(1);
    }
    if asked.len() >= BEGINNING_MIN && key.starts_with(asked) {
        return Some(2);
    }
    let allowed = (asked.len() / 3).clamp(1, 2);
    if key.len().abs_diff(asked.len()) > allowed * 4 {
        return None;
    }
    let distance = semel_policy::distance(asked, key);
    (distance <= allowed).then_some(2 + distance)
}

/// A key without its case and what stands around it.
fn plain(key: &str) -> String {
    let around = |c: char| c.is_whitespace() || c == '"' || c == '\'';
    key.trim_matches(around).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::{Fence, Fingerprint, Identity, State, Timestamp};

    fn record(key: &str) -> Record {
        Record {
            identity: Identity::parse("acme", "payments@1", key).unwrap(),
            fingerprint: Fingerprint::none(),
            fence: Fence::new(1),
            attempt: 1,
            claimed_at: Timestamp::from_millis(0),
            about: None,
            nonce: None,
            state: State::Running {
                lease_until: Timestamp::from_millis(0),
            },
        }
    }

    fn near(asked: &str, keys: &[&str]) -> Vec<String> {
        let records: Vec<_> = keys.iter().map(|key| record(key)).collect();
        let found = misses(&asked.parse().unwrap(), &records);
        let key = |record: &Record| record.identity.key().to_string();
        found.iter().map(key).collect()
    }

    #[test]
    fn the_likeliest_key_comes_first_and_another_word_not_at_all() {
        for (asked, keys, expected) in [
            (
                "Order-17",
                &["order-71", "order-17"][..],
                &["order-17", "order-71"][..],
            ),
            (
                "order-17",
                &["\"order-17\"", " order-17"],
                &["\"order-17\"", " order-17"],
            ),
            (
                "8f14e45f",
                &["8f14e45f-ceea-467f", "c9f0f895"],
                &["8f14e45f-ceea-467f"],
            ),
            ("acme/payments@1/o-1", &["o-1"], &["o-1"]),
            ("order-17", &["refund-17", "order-17"], &[]),
            ("ordre-17", &["order-17"], &["order-17"]),
            ("a", &["b", "abc"], &["b"]),
        ] {
            assert_eq!(near(asked, keys), expected, "{asked}");
        }
    }

    #[test]
    fn no_more_than_a_few_are_named() {
        let keys: Vec<_> = (10..99).map(|n| format!("order-{n}")).collect();
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        assert_eq!(near("order-1", &keys).len(), MISSES_MAX);
    }
}
