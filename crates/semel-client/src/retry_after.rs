//! How long the server asks to be left alone.
//!
//! No clock is read: a date is compared with the server's own `Date`, which also keeps
//! a client with a wrong clock from waiting for hours.

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};

/// The time from now that `Retry-After` names, as seconds or as a date.
///
/// A date without a `Date` beside it says nothing, and neither does a text that is
/// neither seconds nor a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, RETRY_AFTER)?;
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits fail to parse only if they are too many, and then any cap is shorter.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(text(headers, DATE)?).ok()?;
    Some(until.duration_since(now).unwrap_or(Duration::ZERO))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NOON: &str = "Wed, 21 Oct 2015 12:00:00 GMT";
    const PAST_NOON: &str = "Wed, 21 Oct 2015 12:00:30 GMT";

    fn check(value: &'static str, date: Option<&'static str>, seconds: Option<u64>) {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        let expected = seconds.map(Duration::from_secs);
        assert_eq!(retry_after(&headers), expected, "{value} at {date:?}");
    }

    #[test]
    fn seconds_need_no_date() {
        check("0", None, Some(0));
        check("120", None, Some(120));
        check("120", Some(NOON), Some(120));
        check("99999999999999999999999", None, Some(u64::MAX));
    }

    #[test]
    fn a_date_counts_from_the_answers_own_date() {
        check(PAST_NOON, Some(NOON), Some(30));
        check(NOON, Some(NOON), Some(0));
        check(NOON, Some(PAST_NOON), Some(0));
        check(PAST_NOON, None, None);
        check(PAST_NOON, Some("yesterday"), None);
    }

    #[test]
    fn other_texts_say_nothing() {
        for value in ["", "-1", "+1", "1.5", "soon", "1 2"] {
            check(value, Some(NOON), None);
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
