//! Beyond which value an alert fires, or that it never does.

use std::time::Duration;

use schemars::{Schema, json_schema};

use super::bytes::Size;
use super::word::{Refusal, Text};

/// The word that switches an alert off.
const OFF: &str = "off";
/// The largest number of things that an alert can wait for.
const COUNT_MAX: u64 = 1_000_000_000;

/// More things than this; `None` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoreThan(pub Option<u64>);

/// A longer or a shorter time than this; `None` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBound(pub Option<Duration>);

/// A larger share than this, in hundredths of a percent; `None` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareAbove(pub Option<u32>);

/// More bytes than this; `None` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargerThan(pub Option<Size>);

/// `off`, or what `read` makes of the text.
fn or_off<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, Refusal>,
) -> Result<Option<T>, Refusal> {
    match text {
        OFF => Ok(None),
        text => read(text).map(Some),
    }
}

impl Text for MoreThan {
    const EXPECTED: &'static str = "a whole number from 0, or off";

    fn parse(text: &str) -> Result<Self, Refusal> {
        or_off(text, |text| whole(text, COUNT_MAX)).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "off" }] })
    }
}

impl Text for TimeBound {
    const EXPECTED: &'static str = "a duration such as 30s, or off";

    fn parse(text: &str) -> Result<Self, Refusal> {
        or_off(text, |text| {
            Duration::parse(text).map_err(|_| Refusal::Unlike)
        })
        .map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Text for ShareAbove {
    const EXPECTED: &'static str = "a share such as 10% or 0.5%, or off";

    fn parse(text: &str) -> Result<Self, Refusal> {
        or_off(text, percent).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9]+([.][0-9]{1,2})?%|off)$" })
    }
}

impl Text for LargerThan {
    const EXPECTED: &'static str = "a size such as 2GiB, or off";

    fn parse(text: &str) -> Result<Self, Refusal> {
        or_off(text, |text| Size::parse(text).map_err(|_| Refusal::Unlike)).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }] })
    }
}

/// Only plain digits: `+5` and `5_000` are typing mistakes here.
fn whole(text: &str, max: u64) -> Result<u64, Refusal> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text
        .parse()
        .ok()
        .filter(|number| is_plain && *number <= max);
    number.ok_or(Refusal::Unlike)
}

/// `12.5%` as hundredths of a percent.
fn percent(text: &str) -> Result<u32, Refusal> {
    let number = text.strip_suffix('%').ok_or(Refusal::Unlike)?;
    let (whole_part, hundredths) = number.split_once('.').unwrap_or((number, "0"));
    if hundredths.is_empty() || hundredths.len() > 2 {
        return Err(Refusal::Unlike);
    }
    let hundredths = whole(&format!("{hundredths:0<2}"), 99)?;
    let share = whole(whole_part, 100)? * 100 + hundredths;
    let share = u32::try_from(share).map_err(|_| Refusal::Unlike)?;
    Some(share)
        .filter(|share| *share <= 10_000)
        .ok_or(Refusal::Unlike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_has_its_unit_or_is_off() {
        assert_eq!(MoreThan::parse("0").unwrap(), MoreThan(Some(0)));
        assert_eq!(MoreThan::parse("off").unwrap(), MoreThan(None));
        let time = TimeBound::parse("250ms").unwrap();
        assert_eq!(time, TimeBound(Some(Duration::from_millis(250))));
        for (text, share) in [
            ("10%", 1_000),
            ("0.5%", 50),
            ("12.25%", 1_225),
            ("100%", 10_000),
        ] {
            assert_eq!(
                ShareAbove::parse(text).unwrap(),
                ShareAbove(Some(share)),
                "{text}"
            );
        }
        let size = LargerThan::parse("2GiB").unwrap();
        assert_eq!(size, LargerThan(Some(Size(2 << 30))));
    }

    #[test]
    fn a_threshold_of_another_unit_is_refused() {
        for text in ["", "-1", "+1", "1s", "1%", "Off"] {
            assert!(MoreThan::parse(text).is_err(), "{text}");
        }
        for text in ["", "10", "%", "101%", "1.234%", "1.%", "100.01%", "-1%"] {
            assert!(ShareAbove::parse(text).is_err(), "{text}");
        }
        assert!(TimeBound::parse("30").is_err() && LargerThan::parse("10%").is_err());
    }
}
