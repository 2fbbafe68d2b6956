//! `Prefer: wait=N` (RFC 7240): how long a caller wants to wait for an answer.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// The longest wait that is granted: shorter than what proxies and clients take for a connection that died.
pub const WAIT_MAX: Duration = Duration::from_secs(30);

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// How long a request wants to wait, at most [`WAIT_MAX`]; zero if it does not say. A preference that cannot be read is none.
pub fn wait(headers: &HeaderMap) -> Duration {
    let values = headers.get_all(PREFER).iter();
    let preferences = values.filter_map(|value| value.to_str().ok());
    let mut preferences = preferences.flat_map(|value| value.split(','));
    // The first one counts, as the RFC says.
    let found = preferences.find_map(seconds);
    Duration::from_secs(found.unwrap_or(0)).min(WAIT_MAX)
}

/// The value of `wait`, of a preference that is one.
fn seconds(preference: &str) -> Option<u64> {
    let (preference, _parameters) = preference.split_once(';').unwrap_or((preference, ""));
    let (name, value) = preference.split_once('=')?;
    let is_wait = name.trim().eq_ignore_ascii_case("wait");
    let digits = value.trim().trim_matches('"');
    let are_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    // A number that is too large to be read is a long wait.
    (is_wait && are_digits).then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wait_counts_and_has_a_limit() {
        for (values, expected) in [
            (&["wait=10"][..], 10),
            (&["Wait = \"7\""], 7),
            (&["respond-async, wait=5"], 5),
            (&["respond-async", "wait=5;x=y, wait=9"], 5),
            (&["wait=0"], 0),
            (&["wait=3600"], 30),
            (&["wait=99999999999999999999999"], 30),
            (&["wait=-1"], 0),
            (&["wait=soon"], 0),
            (&["wait"], 0),
            (&["waiting=9"], 0),
            (&[], 0),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(PREFER, value.parse().unwrap());
            }
            assert_eq!(wait(&headers).as_secs(), expected, "{values:?}");
        }
    }
}
