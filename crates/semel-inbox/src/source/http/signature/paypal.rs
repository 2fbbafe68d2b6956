//! PayPal's events: RSA with SHA-256 over `TRANSMISSION|TIME|WEBHOOK|CRC32`.
//!
//! Of the body only a checksum is signed, which `semel check` says. The time is in RFC 3339.

use http::HeaderMap;
use semel_core::Timestamp;

use super::key::Proof;
use super::{Checked, Encoding, Signature, decoded, one};

/// The only algorithm that is taken, as the header names it.
const ALGORITHM: &str = "SHA256withRSA";

pub(super) fn check(
    signature: &Signature,
    webhook_id: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Checked {
    let field = |name: &str| one(headers, &format!("paypal-{name}"));
    if field("auth-algo")? != ALGORITHM {
        return Err("the signature is made by an algorithm that is not taken");
    }
    let (id, time) = (field("transmission-id")?, field("transmission-time")?);
    let signed = format!("{id}|{time}|{webhook_id}|{}", crc32(body));
    let proof = decoded(field("transmission-sig")?, Encoding::Base64);
    let proof = proof.ok_or("the signature is malformed")?;
    signature.any(&[signed.as_bytes()], &[Proof::Rsa(proof)])?;
    let seconds = unix_seconds(time).ok_or("the signed time is malformed")?;
    signature.is_recent(&seconds.to_string(), now)
}

/// The checksum of IEEE 802.3, bit by bit: bodies are small, and requests with it few.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// Seconds since 1970 of a time such as `2016-09-21T22:00:46Z`; fractions are cut off, and other zones than UTC not taken.
fn unix_seconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let time = time.split('.').next()?;
    let numbers = |text: &str, separator: char| {
        let numbers = text.split(separator).map(|part| part.parse::<i64>().ok());
        let numbers: Option<Vec<i64>> = numbers.collect();
        <[i64; 3]>::try_from(numbers?).ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let fits = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    // Years begin in March, so that the leap day comes last.
    let (year, month) = match month > 2 {
        true => (year, month - 3),
        false => (year - 1, month + 9),
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468;
    fits.then_some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn times_are_read_as_they_are_meant() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T00:00:00Z", Some(951_782_400)),
            ("2016-09-21T22:00:46Z", Some(1_474_495_246)),
            ("2016-09-21T22:00:46.123Z", Some(1_474_495_246)),
            ("2016-09-21T22:00:46+02:00", None),
            ("2016-13-21T22:00:46Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(unix_seconds(text), seconds, "{text}");
        }
    }
}
