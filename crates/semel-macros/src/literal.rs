//! Literals that are checked at compile time: scopes, durations and templates.
//!
//! The limits are those of the core, which this crate does not depend on: a procedural macro is built
//! for the host, and the core would be built twice. A test holds the two to each other.

use std::time::Duration;

use syn::{Error, LitStr, Result};

/// The longest scope name or tenant, in bytes.
const PART_BYTES_MAX: usize = 255;
const TTL_MAX: Duration = Duration::from_secs(3_653 * 24 * 60 * 60);
const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The core has no limit here; a caller that waits longer than a lease can last waits for nothing.
const WAIT_MAX: Duration = LEASE_MAX;
const MILLISECOND: Duration = Duration::from_millis(1);

/// A scope that the core accepts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) name: String,
    pub(crate) version: u32,
}

/// Reads `name@version`. The core takes a missing version for 1; here it must be seen, because a
/// function whose meaning changes is where it has to be raised.
pub(crate) fn scope(literal: &LitStr) -> Result<Scope> {
    let text = literal.value();
    let Some((name, version)) = text.rsplit_once('@') else {
        return Err(expected_scope(literal, "no `@version`"));
    };
    let number: u32 = version
        .parse()
        .map_err(|_| expected_scope(literal, &format!("version {version:?}")))?;
    if number.to_string() != version {
        return Err(expected_scope(literal, &format!("version {version:?}")));
    }
    check_part(literal, "a scope name", name)?;
    Ok(Scope {
        name: name.to_owned(),
        version: number,
    })
}

fn expected_scope(literal: &LitStr, found: &str) -> Error {
    let message =
        format!("expected a scope of the form \"name@version\", as \"payments@1\", found {found}");
    Error::new(literal.span(), message)
}

/// Checks a constant text by the core's rule for parts of an identity.
pub(crate) fn check_part(literal: &LitStr, what: &str, text: &str) -> Result<()> {
    let len = text.len();
    if len == 0 || len > PART_BYTES_MAX {
        let message = format!("expected {what} of 1 to {PART_BYTES_MAX} bytes, found {len}");
        return Err(Error::new(literal.span(), message));
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => {
            let message = format!("expected {what} without control characters, found {c:?}");
            Err(Error::new(literal.span(), message))
        }
        None => Ok(()),
    }
}

/// How long settled records are kept: 1 ms to ten years.
pub(crate) fn ttl(literal: &LitStr) -> Result<Duration> {
    within(literal, MILLISECOND, TTL_MAX, "1ms to 3653d")
}

/// How long a lease lasts: 1 ms to 24 h.
pub(crate) fn lease(literal: &LitStr) -> Result<Duration> {
    within(literal, MILLISECOND, LEASE_MAX, "1ms to 24h")
}

/// How long a duplicate waits for the first one: not at all to 24 h.
pub(crate) fn wait(literal: &LitStr) -> Result<Duration> {
    within(literal, Duration::ZERO, WAIT_MAX, "0s to 24h")
}

fn within(literal: &LitStr, min: Duration, max: Duration, range: &str) -> Result<Duration> {
    let text = literal.value();
    match duration(&text) {
        Some(found) if (min..=max).contains(&found) => Ok(found),
        Some(_) => {
            let message = format!("expected a duration from {range}, found {text:?}");
            Err(Error::new(literal.span(), message))
        }
        None => {
            let message = format!(
                "expected a whole number and one of ms, s, m, h, d, as \"24h\", found {text:?}"
            );
            Err(Error::new(literal.span(), message))
        }
    }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let ms = number.parse::<u64>().ok()?.checked_mul(unit_ms)?;
    Some(Duration::from_millis(ms))
}

/// Whether a format string has a placeholder, so that its text differs from call to call.
pub(crate) fn has_placeholder(template: &str) -> bool {
    template.replace("{{", "").contains('{')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    fn literal(text: &str) -> LitStr {
        LitStr::new(text, Span::call_site())
    }

    #[test]
    fn durations_are_a_whole_number_and_a_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "", "5", "h", "1.5h", "-1s", "+1s", "1 h", "1H", "1us", "1h30m",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
        assert_eq!(duration("18446744073709551615d"), None);
    }

    #[test]
    fn limits_are_those_of_the_core() {
        assert_eq!(PART_BYTES_MAX, semel::identity::PART_BYTES_MAX);
        assert_eq!(LEASE_MAX, semel::LeaseTerm::MAX);
        assert_eq!(TTL_MAX, semel::Retention::MAX);
    }

    #[test]
    fn durations_have_bounds() {
        for (ok, text) in [
            (ttl(&literal("1ms")).is_ok(), "1ms"),
            (ttl(&literal("3653d")).is_ok(), "3653d"),
            (lease(&literal("24h")).is_ok(), "24h"),
            (wait(&literal("0s")).is_ok(), "0s"),
        ] {
            assert!(ok, "{text}");
        }
        assert!(ttl(&literal("0s")).is_err());
        assert!(ttl(&literal("3654d")).is_err());
        assert!(lease(&literal("0ms")).is_err());
        assert!(lease(&literal("25h")).is_err());
        assert!(wait(&literal("2d")).is_err());
    }

    #[test]
    fn scopes_have_a_name_and_a_canonical_version() {
        let (name, version) = ("POST /users/@me".to_owned(), 7);
        let read = scope(&literal("POST /users/@me@7")).unwrap();
        assert_eq!(read, Scope { name, version });
        let long = format!("{}@1", "n".repeat(256));
        for bad in [
            "", "payments", "@1", "a@", "a@01", "a@-1", "a@b", "a\n@1", &long,
        ] {
            assert!(scope(&literal(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn doubled_braces_are_no_placeholder() {
        assert!(has_placeholder("{order_id}"));
        assert!(has_placeholder("{{{order_id}}}"));
        assert!(!has_placeholder("{{order_id}}"));
        assert!(!has_placeholder("order_id"));
    }
}
