//! Sizes in bytes as people write and read them: `64KiB`, `1MiB`, `512`.

use std::fmt;

use schemars::{Schema, json_schema};

use super::word::{Refusal, Text};

/// Units, the largest first. Powers of 1024: what a buffer holds.
const UNITS: [(&str, usize); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub usize);

impl Text for Size {
    const EXPECTED: &'static str = "a size such as 64KiB";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = match unit {
            "" => Some(1),
            unit => UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .map(|(_, bytes)| *bytes),
        };
        let number: Option<usize> = number.parse().ok();
        let bytes = number
            .zip(unit)
            .and_then(|(number, unit)| number.checked_mul(unit));
        bytes
            .filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or(Refusal::Unlike)
    }

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$" },
                { "type": "integer", "minimum": 1 },
            ],
            "examples": ["64KiB", "1MiB"],
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS
            .iter()
            .find(|(_, bytes)| self.0.is_multiple_of(*bytes));
        let (name, bytes) = whole.unwrap_or(&("B", 1));
        write!(f, "{}{name}", self.0 / bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_and_a_power_of_1024() {
        for (text, bytes) in [
            ("1", 1),
            ("512", 512),
            ("7B", 7),
            ("64KiB", 65_536),
            ("1MiB", 1_048_576),
            ("2GiB", 2_147_483_648),
        ] {
            assert_eq!(Size::parse(text).unwrap(), Size(bytes), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let too_many = format!("{}KiB", usize::MAX);
        for text in [
            "", "0", "0KiB", "KiB", "1kb", "1MB", "-1", "1.5MiB", "1 ", "1 KiB", &too_many,
        ] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_shows_in_its_largest_whole_unit() {
        for text in ["1B", "1000B", "64KiB", "1MiB", "1025KiB", "3GiB"] {
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
    }
}
