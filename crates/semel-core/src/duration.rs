//! Durations as people write and read them: `500ms`, `30s`, `5m`, `24h`, `7d`.
//!
//! Command line, configuration and API share this spelling.

use std::time::Duration;

use crate::error::{Error, Result};

/// Units, the largest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a whole number and a unit.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(semel_core::duration::parse("30s")?, Duration::from_secs(30));
/// # Ok::<(), semel_core::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Duration> {
    let expected = || {
        Error::invalid(format!(
            "a duration is a whole number and a unit, such as 500ms, 30s, 5m, 24h or 7d; \
             found {text:?}"
        ))
    };
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| expected())?;
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, unit_ms) = unit.ok_or_else(expected)?;
    let ms = number.checked_mul(*unit_ms).ok_or_else(expected)?;
    Ok(Duration::from_millis(ms))
}

/// The two largest units: `5m 3s`. A rounded-down answer is enough for people.
pub fn show(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let Some(first) = UNITS.iter().position(|(_, unit_ms)| ms >= *unit_ms) else {
        return "0ms".to_owned();
    };
    let (name, unit_ms) = UNITS[first];
    let whole = format!("{}{name}", ms / unit_ms);
    match UNITS.get(first + 1) {
        Some((next, next_ms)) if *next != "ms" && ms % unit_ms >= *next_ms => {
            format!("{whole} {}{next}", ms % unit_ms / next_ms)
        }
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_and_a_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("0s", 0),
            ("30s", 30_000),
            ("5m", 300_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_examples() {
        let too_many_days = format!("{}d", u64::MAX);
        for text in [
            "",
            "5",
            "s",
            "1.5h",
            "-5s",
            "5 s",
            "5S",
            "1h30m",
            "٣s",
            &too_many_days,
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("24h"), "{text:?}: {error}");
        }
    }

    #[test]
    fn people_read_the_two_largest_units() {
        for (ms, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (12_345, "12s"),
            (60_000, "1m"),
            (303_000, "5m 3s"),
            (3_600_000, "1h"),
            (3_661_000, "1h 1m"),
            (90_000_000, "1d 1h"),
            (86_401_000, "1d"),
        ] {
            assert_eq!(show(Duration::from_millis(ms)), text);
        }
    }
}
