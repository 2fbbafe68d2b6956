//! What the addresses of all brokers have in common: `SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,HOST…][/PATH][?NAME=VALUE&…]`, percent-encoded.
//!
//! Each broker's crate says what its address names. No error repeats a password or a whole address, also not where a character of a password
//! that is not encoded puts a part of it in the place of a host or an option.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use semel_core::{Error, Result, duration};

/// Within which bounds the time is that an answer may take.
pub const TIMEOUTS: RangeInclusive<Duration> =
    RangeInclusive::new(Duration::from_millis(10), Duration::from_secs(300));

const NOT_A_SERVER: &str = "a server is HOST:PORT with a number up to 65535; a @ : / or ? of a user or password before it is written %40 %3A %2F or %3F";
const NOT_ENCODED: &str = "expected no @ behind the first /; a @ : / or ? of a user or password, or a @ of a name, is written %40 %3A %2F or %3F";

/// A user and, if there is a colon, the password.
pub type User = (String, Option<String>);

/// An address that was taken apart.
///
/// ```
/// use semel_inbox::source::address::Parts;
///
/// let parts = Parts::split("a NATS address", &["nats"], "nats://me:p%40ss@a,b:7/orders?tls=true")?;
/// assert_eq!(parts.user()?, Some(("me".to_owned(), Some("p@ss".to_owned()))));
/// assert_eq!(parts.servers(4222)?, ["a:4222", "b:7"]);
/// assert_eq!(parts.path, "orders");
/// # Ok::<(), semel_core::Error>(())
/// ```
pub struct Parts<'a> {
    /// What stands before `://`.
    pub scheme: &'a str,
    user: Option<&'a str>,
    /// The host or hosts, as they stand there.
    pub hosts: &'a str,
    /// What stands behind the first `/`, not yet decoded.
    pub path: &'a str,
    /// What stands behind the `?`.
    pub options: Options,
}

impl<'a> Parts<'a> {
    /// Takes an address apart that has one of these schemes; `what` it is begins the error.
    pub fn split(what: &str, schemes: &[&str], url: &'a str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        if !schemes.contains(&scheme) {
            let found = match scheme {
                "" => "no scheme".to_owned(),
                scheme => format!("{scheme}://"),
            };
            let expected = schemes.join(":// or ");
            return Err(Error::invalid(format!(
                "{what} begins with {expected}://, found {found}"
            )));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // The password has a / that is not encoded, or the path a @: what looks like a path may be secret, and is not repeated.
        if path.contains('@') {
            return Err(Error::invalid(NOT_ENCODED));
        }
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        Ok(Self {
            scheme,
            user,
            hosts,
            path,
            options: Options::parse(query)?,
        })
    }

    /// Who stands before the `@`.
    pub fn user(&self) -> Result<Option<User>> {
        let Some(text) = self.user else {
            return Ok(None);
        };
        let (user, password) = match text.split_once(':') {
            Some((user, password)) => (user, Some(decode("the password", password)?)),
            None => (text, None),
        };
        Ok(Some((decode("the user", user)?, password)))
    }

    /// The server with its port, or with the usual one. An IPv6 address stands in brackets, and keeps them.
    pub fn server(&self, usual: u16) -> Result<(String, u16)> {
        server(self.hosts, usual)
    }

    /// One or more servers with commas between them, each as `HOST:PORT`.
    pub fn servers(&self, usual: u16) -> Result<Vec<String>> {
        let servers = self.hosts.split(',');
        let shown = |text| server(text, usual).map(|(host, port)| format!("{host}:{port}"));
        servers.map(shown).collect()
    }
}

impl fmt::Debug for Parts<'_> {
    /// Never the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme, self.hosts, self.path)
    }
}

fn server(text: &str, usual: u16) -> Result<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (text, Some(usual)),
    };
    let is_v6 = host.starts_with('[') && host.ends_with(']');
    let is_host = !host.is_empty() && (is_v6 || !host.contains(':'));
    match port.filter(|_| is_host) {
        Some(port) => Ok((host.to_owned(), port)),
        // What was found may be a password with a / in it.
        None => Err(Error::invalid(NOT_A_SERVER)),
    }
}

/// The options of an address. Each is taken out once, and what is left at the end is refused.
///
/// ```
/// use semel_inbox::source::address::Options;
///
/// let mut options = Options::parse("queue=a%20b&timeout=2s")?;
/// assert_eq!(options.take("queue")?.as_deref(), Some("a b"));
/// assert!(options.finish("queue").is_err());
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Options(Vec<(String, String)>);

impl Options {
    /// Reads `NAME=VALUE&…`.
    pub fn parse(query: &str) -> Result<Self> {
        let parts = query.split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                Error::invalid("an option is NAME=VALUE, found one without a value")
            })?;
            Ok((decode("an option", name)?, decode("an option", value)?))
        };
        parts.map(pair).collect::<Result<_>>().map(Self)
    }

    /// Takes an option out; `None` if it is not there. One that is given twice is refused.
    pub fn take(&mut self, name: &str) -> Result<Option<String>> {
        let mut found = None;
        while let Some(at) = self.0.iter().position(|(known, _)| known == name) {
            let (_, value) = self.0.remove(at);
            if found.replace(value).is_some() {
                return Err(Error::invalid(format!("the option {name} is given twice")));
            }
        }
        Ok(found)
    }

    /// Takes a text out that has so many bytes.
    pub fn take_text(
        &mut self,
        name: &str,
        bytes: RangeInclusive<usize>,
    ) -> Result<Option<String>> {
        let found = self.take(name)?;
        match found.as_ref().map(String::len) {
            Some(count) if !bytes.contains(&count) => Err(Error::invalid(format!(
                "the option {name} has {} to {} bytes, found {count}",
                bytes.start(),
                bytes.end()
            ))),
            Some(_) | None => Ok(found),
        }
    }

    /// Takes a duration out.
    pub fn take_duration(
        &mut self,
        name: &str,
        bounds: RangeInclusive<Duration>,
    ) -> Result<Option<Duration>> {
        let parse = |text: &str| duration::parse(text).ok();
        self.take_within(name, bounds, parse, duration::show)
    }

    /// Takes a whole number out.
    pub fn take_number<T: FromStr + ToString + PartialOrd + Copy>(
        &mut self,
        name: &str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<T>> {
        let parse = |text: &str| text.parse().ok();
        self.take_within(name, bounds, parse, |number| number.to_string())
    }

    fn take_within<T: PartialOrd + Copy>(
        &mut self,
        name: &str,
        bounds: RangeInclusive<T>,
        parse: impl Fn(&str) -> Option<T>,
        show: impl Fn(T) -> String,
    ) -> Result<Option<T>> {
        let Some(text) = self.take(name)? else {
            return Ok(None);
        };
        let found = parse(&text).filter(|found| bounds.contains(found));
        let found = found.ok_or_else(|| {
            let (least, most) = (show(*bounds.start()), show(*bounds.end()));
            Error::invalid(format!(
                "the option {name} is from {least} to {most}, found {text:?}"
            ))
        })?;
        Ok(Some(found))
    }

    /// Takes one of a few words out, as what it stands for.
    pub fn take_word<T: Copy>(&mut self, name: &str, known: &[(&str, T)]) -> Result<Option<T>> {
        let Some(text) = self.take(name)? else {
            return Ok(None);
        };
        let found = known.iter().find(|(word, _)| *word == text);
        let found = found.map(|(_, meant)| Some(*meant));
        found.ok_or_else(|| {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            let words = words.join(" or ");
            Error::invalid(format!("the option {name} is {words}, found {text:?}"))
        })
    }

    /// Takes `true` or `false` out.
    pub fn take_bool(&mut self, name: &str) -> Result<Option<bool>> {
        self.take_word(name, &[("true", true), ("false", false)])
    }

    /// Refuses what is left; `known` names what there could have been.
    pub fn finish(&self, known: &str) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(Error::invalid(format!(
                "the option {name:?} is not known; known are {known}"
            ))),
        }
    }
}

impl fmt::Debug for Options {
    /// Values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// Percent-encoded text as it was meant.
pub fn decode(what: &str, text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded =
        decoded.map_err(|_| Error::invalid(format!("{what} of the address is no UTF-8")))?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_bounds_are_refused_with_their_bounds() {
        let all = "t=1s&late=soon&n=7&big=70000&text=abc&w=b";
        let mut options = Options::parse(all).unwrap();
        let (second, words) = (Duration::from_secs(1), [("a", 1), ("c", 2)]);
        let bounds = second * 2..=second * 60;
        for (taken, expected) in [
            (
                options.take_duration("t", bounds.clone()).map(drop),
                "t is from 2s to 1m, found \"1s\"",
            ),
            (
                options.take_duration("late", bounds).map(drop),
                "late is from 2s to 1m, found \"soon\"",
            ),
            (
                options.take_number("n", 1..=6).map(drop),
                "n is from 1 to 6, found \"7\"",
            ),
            (
                options.take_number::<u16>("big", 1..=6).map(drop),
                "big is from 1 to 6, found \"70000\"",
            ),
            (
                options.take_text("text", 1..=2).map(drop),
                "text has 1 to 2 bytes, found 3",
            ),
            (
                options.take_word("w", &words).map(drop),
                "w is a or c, found \"b\"",
            ),
        ] {
            let error = taken.unwrap_err().to_string();
            assert!(error.contains(&format!("the option {expected}")), "{error}");
        }
        let mut options = Options::parse("t=1s&n=7&w=c").unwrap();
        let time = options.take_duration("t", second..=second).unwrap();
        assert_eq!(time, Some(second));
        assert_eq!(options.take_number("n", 7..=7).unwrap(), Some(7));
        assert_eq!(options.take_word("w", &words).unwrap(), Some(2));
        options.finish("t, n and w").unwrap();
    }

    #[test]
    fn a_password_that_is_not_encoded_is_not_shown() {
        for url in ["x://u:sec/ret@h/p", "x://u:sec?ret@h/p", "x://u:sec:ret@/p"] {
            let parts = Parts::split("an address", &["x"], url);
            let error = parts.and_then(|parts| parts.server(1)).unwrap_err();
            let shown = error.to_string();
            assert!(!shown.contains("sec") && !shown.contains("ret"), "{shown}");
        }
    }
}
