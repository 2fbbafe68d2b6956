//! Canonical JSON (RFC 8785), with a guard against what its number model loses.
//!
//! RFC 8785 reads every number as an IEEE double, so `9007199254740993` and
//! `9007199254740992` have one canonical form. For a layer that guards payments two
//! different amounts must never look alike: a text with such a number, or with a
//! repeated field name, has no canonical form here and is compared byte by byte. That
//! can only refuse more, never less.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Doubles hold every decimal of this many significant digits exactly.
const EXACT_DIGITS_MAX: usize = 15;
/// Exponents beyond this leave the range of doubles.
const EXPONENT_MAX: i32 = 290;

/// The canonical form of a JSON text, or `None` if it has none that is safe to compare.
pub fn json(text: &[u8]) -> Option<Vec<u8>> {
    if !all_numbers(text, is_exact) {
        return None;
    }
    let Unique(value) = serde_json::from_slice(text).ok()?;
    serde_json_canonicalizer::to_vec(&value).ok()
}

/// A text that this process wrote, with the fields of its objects in order and its numbers as they are; `None` if a
/// number would not be written the same again. For values in memory: their numbers have one spelling, so that nothing
/// but the order of fields can differ.
pub(super) fn sorted(text: &[u8]) -> Option<Vec<u8>> {
    if !all_numbers(text, is_written_the_same_again) {
        return None;
    }
    let Unique(mut value) = serde_json::from_slice(text).ok()?;
    value.sort_all_objects();
    serde_json::to_vec(&value).ok()
}

fn is_written_the_same_again(number: &[u8]) -> bool {
    let read = serde_json::from_slice::<Value>(number);
    read.is_ok_and(|value| value.to_string().as_bytes() == number)
}

/// Whether a text is JSON whose objects name each field once.
pub fn fields_are_unique(text: &[u8]) -> bool {
    serde_json::from_slice::<Unique>(text).is_ok()
}

/// Whether `holds` of every number literal of a text.
fn all_numbers(text: &[u8], holds: fn(&[u8]) -> bool) -> bool {
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match byte {
            b'"' => skip_string(tail),
            b'-' | b'0'..=b'9' => {
                let (number, tail) = split_number(rest);
                if !holds(number) {
                    return false;
                }
                tail
            }
            _ => tail,
        };
    }
    true
}

fn skip_string(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [] => return text,
            [b'"', tail @ ..] => return tail,
            [b'\\', _, tail @ ..] | [_, tail @ ..] => tail,
        };
    }
}

fn split_number(text: &[u8]) -> (&[u8], &[u8]) {
    let is_part = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let len = text.iter().take_while(|b| is_part(b)).count();
    text.split_at(len)
}

/// Whether a number literal survives the way through a double.
fn is_exact(number: &[u8]) -> bool {
    let exponent_at = number.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = number.split_at(exponent_at.unwrap_or(number.len()));
    let digits = mantissa
        .iter()
        .filter(|b| b.is_ascii_digit())
        .skip_while(|b| **b == b'0')
        .count();
    digits <= EXACT_DIGITS_MAX && exponent_in_range(exponent)
}

fn exponent_in_range(exponent: &[u8]) -> bool {
    let Some((_, digits)) = exponent.split_first() else {
        return true;
    };
    std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse::<i32>().ok())
        .is_some_and(|value| value.unsigned_abs() <= EXPONENT_MAX.unsigned_abs())
}

/// A value whose objects name each field once; reading anything else fails.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON whose objects name each field once")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let Unique(value) = map.next_value()?;
            if fields.insert(name, value).is_some() {
                return Err(de::Error::custom("a field is named twice"));
            }
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        json(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// The examples of RFC 8785 §3.2.2–§3.2.4, as far as their numbers are exact.
    #[test]
    fn rfc_8785_vectors_hold() {
        for (text, expected) in [
            (
                r#"{"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
                r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
            ),
            (
                r#"{"n":[4.50,2e-3,1E30,0.000001,1e21]}"#,
                r#"{"n":[4.5,0.002,1e+30,0.000001,1e+21]}"#,
            ),
            (
                r#"{"\ufb33":1,"\ud83d\ude00":2,"1":3,"\u20ac":4,"\r":5,"\u00f6":6,"\u0080":7}"#,
                "{\"\\r\":5,\"1\":3,\"\u{80}\":7,\"ö\":6,\"€\":4,\"😀\":2,\"\u{fb33}\":1}",
            ),
            (
                r#"[56,{"d":true,"10":null,"1":[]}]"#,
                r#"[56,{"1":[],"10":null,"d":true}]"#,
            ),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn unsafe_or_broken_texts_have_no_canonical_form() {
        for text in [
            "9007199254740993",
            "333333333.33333329",
            "1e999",
            "1e-999",
            r#"{"a":1,"a":1}"#,
            r#"[{"x":{"a":1,"a":2}}]"#,
            "{",
            "",
            "nul",
            "1 2",
            &("[".repeat(200) + &"]".repeat(200)),
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn digits_inside_strings_are_not_numbers() {
        assert!(
            canonical(r#"{"iban":"DE89370400440532013000","q\"1":"12345678901234567890"}"#)
                .is_some()
        );
    }
}
