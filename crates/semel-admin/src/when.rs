//! Moments as people write them: `2026-11-16T08:30:00Z`, or `2h` for two hours ago.

use std::str::FromStr;
use std::time::Duration;

use semel_core::{Error, Result, Timestamp, duration};

/// A moment, or how long ago one was.
///
/// ```
/// use semel_admin::When;
/// use semel_core::Timestamp;
///
/// let now = Timestamp::from_millis(7_200_000);
/// assert_eq!("2h".parse::<When>()?.at(now), Timestamp::from_millis(0));
/// assert_eq!("1970-01-01T01:00:00+01:00".parse::<When>()?.at(now), Timestamp::from_millis(0));
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// This moment.
    At(Timestamp),
    /// So long ago.
    Ago(Duration),
}

impl When {
    /// The moment, seen from `now`.
    pub fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => {
                let ms = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
                Timestamp::from_millis(now.as_millis().saturating_sub(ms))
            }
        }
    }
}

impl FromStr for When {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let ago = text.strip_suffix(" ago").unwrap_or(text);
        if let Ok(ago) = duration::parse(ago) {
            return Ok(Self::Ago(ago));
        }
        moment(text).map(Self::At).ok_or_else(|| {
            Error::invalid(format!(
                "expected a moment such as 2026-11-16T08:30:00Z, or how long ago it was, such as 2h; found {text:?}"
            ))
        })
    }
}

/// Reads RFC 3339; a date alone is its midnight in UTC.
fn moment(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = days(date)?;
    let ms = match rest {
        "" => 0,
        _ => of_day(rest)?,
    };
    Some(Timestamp::from_millis(days * 86_400_000 + ms))
}

/// `2026-11-16` as days since 1970-01-01. Years are counted from March, so that the leap day comes last.
fn days(date: &str) -> Option<i64> {
    let [year, month, day] = parts(date, '-', [4, 2, 2])?;
    if !(1..=12).contains(&month) || !(1..=month_len(year, month)).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

const fn month_len(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// `T08:30:00.250+01:00` as milliseconds of the day in UTC, which may lie in the day before or after.
fn of_day(text: &str) -> Option<i64> {
    let text = text.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = text.split_at_checked(8)?;
    let [hour, minute, second] = parts(clock, ':', [2, 2, 2])?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (ms, zone) = fraction(rest)?;
    Some((hour * 60 + minute) * 60_000 + second * 1_000 + ms - offset(zone)?)
}

/// The milliseconds of `.250Z`, and what comes after them.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(digits) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let (fraction, zone) = digits.split_at(end);
    // What is finer than a millisecond is cut off.
    let padded = format!("{fraction:0<3}");
    Some((padded.get(..3)?.parse().ok()?, zone)).filter(|_| end > 0)
}

/// The offset of a zone from UTC in milliseconds.
fn offset(zone: &str) -> Option<i64> {
    let (sign, clock) = match zone {
        "Z" | "z" => return Some(0),
        _ => (zone.get(..1)?, zone.get(1..)?),
    };
    let [hour, minute] = parts(clock, ':', [2, 2])?;
    let ms = (hour * 60 + minute) * 60_000;
    match sign {
        _ if hour > 23 || minute > 59 => None,
        "+" => Some(ms),
        "-" => Some(-ms),
        _ => None,
    }
}

/// Numbers of exactly these lengths, with something between them.
fn parts<const N: usize>(text: &str, between: char, lens: [usize; N]) -> Option<[i64; N]> {
    let found: Vec<&str> = text.split(between).collect();
    let found: [&str; N] = found.try_into().ok()?;
    let mut numbers = [0; N];
    for ((number, text), len) in numbers.iter_mut().zip(found).zip(lens) {
        if text.len() != len || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = text.parse().ok()?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_timestamp_shows_is_read_back() {
        for ms in [0, 1, 951_782_400_000, 1_794_787_200_123, 4_102_444_799_999] {
            let at = Timestamp::from_millis(ms);
            assert_eq!(at.to_string().parse::<When>().unwrap(), When::At(at));
        }
    }

    #[test]
    fn moments_have_zones_and_a_date_alone_is_its_midnight() {
        let at = |text: &str| match text.parse::<When>() {
            Ok(When::At(at)) => at.to_string(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(at("2024-02-29"), "2024-02-29T00:00:00.000Z");
        assert_eq!(at("2026-11-16T00:30:00+01:00"), "2026-11-15T23:30:00.000Z");
        assert_eq!(
            at("2026-11-16 23:30:00.1239-01:00"),
            "2026-11-17T00:30:00.123Z"
        );
    }

    #[test]
    fn a_duration_is_that_long_ago() {
        let now = Timestamp::from_millis(3_600_000);
        for text in ["30m", "30m ago"] {
            let at = text.parse::<When>().unwrap().at(now);
            assert_eq!(at, Timestamp::from_millis(1_800_000), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2023-02-29",
            "2026-11-16T08:30",
            "2026-11-16T08:30:00",
            "2026-11-16T24:00:00Z",
            "2026-11-16T08:30:00.Z",
            "2026-11-16T08:30:00+1:00",
            "2026-11-1éT08:30:00Z",
            "+026-11-16",
        ] {
            let refused = text.parse::<When>().unwrap_err().to_string();
            assert!(
                refused.contains("2026-11-16T08:30:00Z"),
                "{text}: {refused}"
            );
        }
    }
}
