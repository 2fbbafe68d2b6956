//! Cookies: their names, and how they are read and written.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The most bytes of a cookie's value.
const VALUE_BYTES_MAX: usize = 1_024;

/// What a cookie is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Jar {
    /// Who is signed in.
    Session,
    /// What the tokens of forms are bound to for those who are not signed in.
    Visit,
    /// What the next page says once.
    Notice,
    /// Who decides at a door without tokens, so that forms are filled in.
    By,
}

impl Jar {
    const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Visit => "visit",
            Self::Notice => "notice",
            Self::By => "by",
        }
    }
}

/// How long a cookie is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Until the browser is closed.
    WhileOpen,
    /// So many seconds.
    Seconds(u64),
}

/// Reads and writes the cookies of one port.
#[derive(Debug)]
pub(super) struct Cookies {
    port: u16,
    is_tls: bool,
}

impl Cookies {
    pub(super) const fn new(port: u16, is_tls: bool) -> Self {
        Self { port, is_tls }
    }

    /// With TLS the prefix makes browsers refuse a cookie that another host, or a page without TLS, tries to set.
    fn name(&self, jar: Jar) -> String {
        let prefix = if self.is_tls { "__Host-" } else { "" };
        format!("{prefix}semel-{}-{}", jar.name(), self.port)
    }

    /// The value that the browser sent; the first one if there are several.
    pub(super) fn get(&self, headers: &HeaderMap, jar: Jar) -> Option<String> {
        let name = self.name(jar);
        let values = headers.get_all(COOKIE).iter();
        let mut pairs = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(found, _)| *found == name)?;
        let value = percent_decode_str(value).decode_utf8().ok()?;
        (1..=VALUE_BYTES_MAX)
            .contains(&value.len())
            .then(|| value.into_owned())
    }

    /// The header `Set-Cookie`. No script reads any of them, and no request that another site makes carries one.
    pub(super) fn set(&self, jar: Jar, value: &str, keep: Keep) -> HeaderValue {
        let (name, value) = (self.name(jar), utf8_percent_encode(value, NON_ALPHANUMERIC));
        let mut text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict");
        if self.is_tls {
            text.push_str("; Secure");
        }
        if let Keep::Seconds(seconds) = keep {
            text.push_str(&format!("; Max-Age={seconds}"));
        }
        HeaderValue::try_from(text).expect("a percent-encoded value is visible ASCII")
    }

    /// The header that makes the browser forget it.
    pub(super) fn forget(&self, jar: Jar) -> HeaderValue {
        self.set(jar, "", Keep::Seconds(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_as_it_was_set() {
        let cookies = Cookies::new(7071, false);
        let set = cookies.set(Jar::Notice, "3 retried; 1 \"left\" é", Keep::Seconds(60));
        let (pair, attributes) = set.to_str().unwrap().split_once(';').unwrap();
        assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Strict; Max-Age=60");
        let mut headers = HeaderMap::new();
        let sent = format!("other=1; {pair}; semel-notice-9=x");
        headers.insert(COOKIE, HeaderValue::try_from(sent).unwrap());
        let found = cookies.get(&headers, Jar::Notice);
        assert_eq!(found.as_deref(), Some("3 retried; 1 \"left\" é"));
        assert_eq!(cookies.get(&headers, Jar::Session), None);
        assert_eq!(Cookies::new(7072, false).get(&headers, Jar::Notice), None);
    }

    #[test]
    fn over_tls_a_cookie_belongs_to_this_host_and_to_tls() {
        let set = Cookies::new(7071, true).set(Jar::Session, "ab", Keep::WhileOpen);
        let expected = "__Host-semel-session-7071=ab; Path=/; HttpOnly; SameSite=Strict; Secure";
        assert_eq!(set, expected);
    }
}
