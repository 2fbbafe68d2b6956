//! So much in such a time, as people write and read it: `100/s`, `1000/m`, `1GiB/day`.

use std::fmt;
use std::time::Duration;

use schemars::{Schema, json_schema};

use super::bytes::Size;
use super::word::{Refusal, Text};

/// The times that a rate can be for; the first name of each is how it is shown.
const TIMES: [(&str, u64); 5] = [
    ("s", 1),
    ("m", 60),
    ("h", 3_600),
    ("day", 86_400),
    ("d", 86_400),
];
/// The largest number of a rate: beyond it there is no limit worth the name.
const AMOUNT_MAX: u64 = 1_000_000_000_000_000;

/// A number of things in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub amount: u64,
    /// In how long.
    pub per: Duration,
}

/// A number of bytes in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRate(pub Rate);

impl Text for Rate {
    const EXPECTED: &'static str = "a rate such as 100/s, 1000/m, 5000/h or 10000/day";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        split(text, |amount| {
            amount.parse().ok().filter(|_: &u64| plain(amount))
        })
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+/(s|m|h|d|day)$", "examples": ["100/s"] })
    }
}

impl Text for ByteRate {
    const EXPECTED: &'static str = "bytes in a time, such as 64KiB/s or 1GiB/day";

    fn parse(text: &str) -> Result<Self, Refusal> {
        split(text, |size| Size::parse(size).ok()?.0.try_into().ok()).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(B|KiB|MiB|GiB)?/(s|m|h|d|day)$",
            "examples": ["1GiB/day"],
        })
    }
}

fn split(text: &str, amount: impl FnOnce(&str) -> Option<u64>) -> Result<Rate, Refusal> {
    let (number, time) = text.split_once('/').ok_or(Refusal::Unlike)?;
    let amount = amount(number).filter(|amount| (1..=AMOUNT_MAX).contains(amount));
    let time = TIMES.iter().find(|(name, _)| *name == time);
    let rate = amount.zip(time).map(|(amount, (_, secs))| Rate {
        amount,
        per: Duration::from_secs(*secs),
    });
    rate.ok_or(Refusal::Unlike)
}

fn time(per: Duration) -> &'static str {
    let found = TIMES.iter().find(|(_, secs)| *secs == per.as_secs());
    found.map_or("s", |(name, _)| name)
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.amount, time(self.per))
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = Size(usize::try_from(self.0.amount).unwrap_or(usize::MAX));
        write!(f, "{bytes}/{}", time(self.0.per))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_time() {
        for (text, amount, secs) in [
            ("100/s", 100, 1),
            ("1000/m", 1_000, 60),
            ("5/h", 5, 3_600),
            ("7/day", 7, 86_400),
            ("7/d", 7, 86_400),
        ] {
            let per = Duration::from_secs(secs);
            assert_eq!(Rate::parse(text).unwrap(), Rate { amount, per }, "{text}");
        }
        let bytes = ByteRate::parse("2KiB/h").unwrap();
        assert_eq!(
            (bytes.0.amount, bytes.to_string().as_str()),
            (2_048, "2KiB/h")
        );
        assert_eq!(Rate::parse("7/d").unwrap().to_string(), "7/day");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "100", "0/s", "-1/s", "+1/s", "1/week", "1 / s", "1KiB/s", "/s",
        ] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
        assert!(ByteRate::parse("1MB/s").is_err() && ByteRate::parse("0/s").is_err());
    }
}
