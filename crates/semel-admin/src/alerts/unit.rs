//! How the value of an alert is written.

use std::time::Duration;

use semel_core::duration;

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// A number of things.
    Count,
    /// A share of 1, written in percent.
    Share,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// The name used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Share => "share",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
        }
    }

    /// The value for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Count => format!("{value}"),
            Self::Share => format!("{:.1} %", value * 100.0),
            Self::Seconds => match Duration::try_from_secs_f64(value) {
                Ok(long) => duration::show(long),
                // What has ended, ended so long ago.
                Err(_) => format!("-{}", duration::show(Duration::from_secs_f64(-value))),
            },
            Self::Bytes => show_bytes(value),
        }
    }
}

fn show_bytes(value: f64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let found = units.into_iter().find(|(_, size)| value >= *size);
    match found {
        Some((unit, size)) => format!("{:.1} {unit}", value / size),
        None => format!("{value} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_their_units() {
        for (unit, value, shown) in [
            (Unit::Count, 3.0, "3"),
            (Unit::Share, 0.125, "12.5 %"),
            (Unit::Seconds, 0.25, "250ms"),
            (Unit::Seconds, -60.0, "-1m"),
            (Unit::Bytes, 1.5e9, "1.5 GB"),
            (Unit::Bytes, 12.0, "12 B"),
        ] {
            assert_eq!(unit.show(value), shown);
        }
    }
}
