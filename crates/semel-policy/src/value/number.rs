//! Numbers with a meaning and a range, and the names of views.

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::{Schema, json_schema};
use semel_core::duration;
use semel_core::inbox::Baseline;
use semel_core::inbox::message::SEQUENCE_MAX;
use semel_inbox::policy::consumer::WORKERS_MAX;
use semel_inbox::policy::retry::ATTEMPTS_MAX;

use super::word::{Refusal, Text};

/// The longest pending age that can be watched for, in seconds: a year.
const SECONDS_MAX: u64 = 365 * 24 * 60 * 60;
/// The most messages that an alert can wait for.
const MESSAGES_MAX: u64 = 1_000_000;
/// The longest retention, in days: ten years.
const DAYS_MAX: u64 = 3_653;
/// How short and how long one may stay signed in.
const SIGNED_IN: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(30 * 24 * 60 * 60);
/// The longest name of a view, in bytes: what PostgreSQL keeps of a name.
const VIEW_BYTES_MAX: usize = 63;
/// How the names of our own tables begin.
const OURS: &str = "semel_";

/// How often something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts(pub u32);

/// How many handlers run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers(pub usize);

/// The version of a consumer's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(pub u32);

/// A number of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days(pub u64);

/// A number of seconds that an alert waits for; `None` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Option<u64>);

/// A number of messages that an alert waits for; `None` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages(pub Option<u64>);

/// How long one stays signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedIn(pub Duration);

/// The name of a view in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View(pub String);

macro_rules! numbers {
    ($($type:ty, $expected:literal, |$text:ident| $parse:expr, $schema:tt;)+) => {$(
        impl Text for $type {
            const EXPECTED: &'static str = $expected;

            fn parse($text: &str) -> Result<Self, Refusal> {
                ($parse).ok_or(Refusal::Unlike)
            }

            fn schema() -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

numbers! {
    Attempts, "a whole number from 1 to 1000",
        |text| between(text, 1, ATTEMPTS_MAX.into()).and_then(|n| n.try_into().ok()).map(Self),
        { "type": "integer", "minimum": 1, "maximum": 1000 };
    Workers, "a whole number from 1 to 1024",
        |text| between(text, 1, WORKERS_MAX as u64).and_then(|n| n.try_into().ok()).map(Self),
        { "type": "integer", "minimum": 1, "maximum": 1024 };
    Version, "a whole number from 1",
        |text| between(text, 1, u32::MAX.into()).and_then(|n| n.try_into().ok()).map(Self),
        { "type": "integer", "minimum": 1 };
    Days, "a number of days from 1 to 3653",
        |text| between(text, 1, DAYS_MAX).map(Self),
        { "type": "integer", "minimum": 1, "maximum": 3653 };
    Seconds, "a number of seconds from 1 to 31536000, or off",
        |text| or_off(text, SECONDS_MAX).map(Self),
        { "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "off" }] };
    Messages, "a whole number from 1 to 1000000, or off",
        |text| or_off(text, MESSAGES_MAX).map(Self),
        { "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "off" }] };
    SignedIn, "a duration from 1m to 30d",
        |text| duration::parse(text).ok().filter(|time| SIGNED_IN.contains(time)).map(Self),
        { "type": "string", "examples": ["8h"] };
    Baseline, "first-seen, or the last version that counts as applied, such as 0",
        |text| match text {
            "first-seen" => Some(Self::FirstSeen),
            number => between(number, 0, SEQUENCE_MAX - 1).map(Self::After),
        },
        { "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "first-seen" }] };
    View, "a name of at most 63 characters from a-z, 0-9 and _, no digit first, that does not begin with semel_",
        |text| is_view(text).then(|| Self(text.to_owned())),
        { "type": "string", "pattern": "^[a-z_][a-z0-9_]*$", "maxLength": 63 };
}

/// Only plain digits: `+5` and `5_000` are typing mistakes here.
fn between(text: &str, min: u64, max: u64) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_plain);
    number.filter(|number| (min..=max).contains(number))
}

fn or_off(text: &str, max: u64) -> Option<Option<u64>> {
    match text {
        "off" => Some(None),
        number => between(number, 1, max).map(Some),
    }
}

fn is_view(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    (1..=VIEW_BYTES_MAX).contains(&text.len())
        && text.bytes().all(is_plain)
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.starts_with(OURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_ends() {
        assert!(SignedIn::parse("1m").is_ok() && SignedIn::parse("30d").is_ok());
        assert!(SignedIn::parse("59s").is_err() && SignedIn::parse("31d").is_err());
        assert!(Attempts::parse("1").is_ok() && Attempts::parse("1000").is_ok());
        assert!(Attempts::parse("0").is_err() && Attempts::parse("1001").is_err());
        assert!(Workers::parse("1024").is_ok() && Workers::parse("1025").is_err());
        assert!(Version::parse("4294967295").is_ok() && Version::parse("4294967296").is_err());
        assert!(Days::parse("3653").is_ok() && Days::parse("3654").is_err());
        for text in [
            "",
            "+5",
            "-1",
            "5_000",
            "1e3",
            "ten",
            "99999999999999999999",
        ] {
            assert!(Attempts::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_alert_can_be_off() {
        assert_eq!(Seconds::parse("off").unwrap(), Seconds(None));
        assert_eq!(Messages::parse("7").unwrap(), Messages(Some(7)));
        assert!(Messages::parse("0").is_err());
    }

    #[test]
    fn a_lane_begins_anywhere_or_after_a_version() {
        assert_eq!(Baseline::parse("first-seen").unwrap(), Baseline::FirstSeen);
        assert_eq!(Baseline::parse("0").unwrap(), Baseline::After(0));
        assert!(Baseline::parse("first").is_err());
    }

    #[test]
    fn a_view_has_a_plain_name_that_is_not_one_of_ours() {
        for text in ["processed_message", "_a", "a1", &"a".repeat(63)] {
            assert!(View::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "1a",
            "A",
            "a-b",
            "a b",
            "semel_records",
            "a;drop",
            &"a".repeat(64),
        ] {
            assert!(View::parse(text).is_err(), "{text}");
        }
    }
}
