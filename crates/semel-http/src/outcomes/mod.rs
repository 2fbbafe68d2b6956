//! The address where callers fetch the outcome of an operation by its key: what a 202 leads to.
//!
//! An operation is named by `scope` and `key` in the query, not in the path: both may hold slashes, which proxies and servers treat in
//! different ways when they are encoded in a path, and access logs write paths and leave queries out. The tenant is not named: it
//! follows from the caller's credentials, by the rule of the route.
//!
//! `prefer` is how long a caller wants to wait; [`Guard::outcome`](crate::Guard::outcome) answers.

mod prefer;

pub use prefer::{WAIT_MAX, wait};

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use semel_core::{Error, Fingerprint, Identity, Key, Result, Scope};

use crate::problem::{Problem, Type};

/// Where outcomes are unless the configuration says otherwise.
pub const PATH: &str = "/.semel/outcomes";
/// The longest path, in bytes.
const PATH_BYTES_MAX: usize = 255;
/// What stays as it is in a query (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The path of that address.
///
/// ```
/// use semel_http::outcomes::Place;
///
/// assert_eq!(Place::default().to_string(), "/.semel/outcomes");
/// assert!(Place::new("/status").is_ok() && Place::new("status?x=1").is_err());
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(Arc<str>);

impl Place {
    /// A path of segments with letters, digits and `-._~`.
    pub fn new(path: &str) -> Result<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let is_segment = |part: &str| {
            !part.is_empty() && !matches!(part, "." | "..") && part.chars().all(is_plain)
        };
        let segments = path.strip_prefix('/').map(|rest| rest.split('/'));
        let is_path = segments.is_some_and(|mut segments| segments.all(is_segment));
        match is_path && path.len() <= PATH_BYTES_MAX {
            true => Ok(Self(path.into())),
            false => Err(Error::invalid(format!(
                "expected a path such as {PATH} of letters, digits, slashes and -._~, found {path:?}"
            ))),
        }
    }

    /// Whether a request for this path asks for an outcome.
    pub fn is(&self, path: &str) -> bool {
        *self.0 == *path
    }

    /// The value of `Location` that leads to the outcome of an operation. The fingerprint shows that the caller knows what was asked.
    pub fn location(&self, identity: &Identity, fingerprint: &Fingerprint) -> HeaderValue {
        let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
        let scope = encoded(&identity.scope().to_string());
        let key = encoded(identity.key().as_str());
        let location = format!("{self}?scope={scope}&key={key}&fingerprint={fingerprint}");
        HeaderValue::try_from(location).expect("what is encoded is visible ASCII")
    }
}

impl Default for Place {
    fn default() -> Self {
        Self(PATH.into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which outcome a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Which operation.
    pub scope: Scope,
    /// Which instance of it.
    pub key: Key,
    /// What was asked, as `Location` said it.
    pub fingerprint: Option<Fingerprint>,
}

impl Question {
    /// Reads the query of a request; each parameter may stand once, in any order.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let (mut scope, mut key, mut fingerprint) = (None, None, None);
        let pairs = query.unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name)?;
            let room = match name.as_str() {
                "scope" => &mut scope,
                "key" => &mut key,
                "fingerprint" => &mut fingerprint,
                _ => {
                    return Err(invalid(
                        "expected scope, key and fingerprint, found another parameter",
                    ));
                }
            };
            if room.replace(decoded(value)?).is_some() {
                return Err(
                    invalid(&format!("{name}: expected once, found twice")).with("field", name)
                );
            }
        }
        Ok(Self {
            scope: part("scope", scope, |text| text.parse().ok())?,
            key: part("key", key, |text| text.parse().ok())?,
            fingerprint: match fingerprint {
                Some(text) => Some(part("fingerprint", Some(text), of_hex)?),
                None => None,
            },
        })
    }
}

fn part<T>(
    name: &str,
    found: Option<String>,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Problem> {
    let why = match &found {
        Some(_) => "not valid",
        None => "missing",
    };
    let parsed = found.as_deref().and_then(parse);
    parsed.ok_or_else(|| invalid(&format!("the parameter {name} is {why}")).with("field", name))
}

fn invalid(detail: &str) -> Problem {
    Problem::new(Type::InvalidInput, format!("{detail}; nothing ran"))
}

/// Undoes the encoding of forms, which `URLSearchParams` and its like use.
fn decoded(text: &str) -> Result<String, Problem> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| invalid("a parameter is not UTF-8 after its percent-encoding is undone"))
}

fn of_hex(text: &str) -> Option<Fingerprint> {
    let hash = blake3::Hash::from_hex(text).ok()?;
    Some(Fingerprint::from_bytes(*hash.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Result<Question, String> {
        Question::read(Some(query)).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn a_location_is_read_back_as_it_was_meant() {
        for (scope, key) in [
            ("payments@1", "order-17"),
            ("POST /pay/{id}@2", "a/b?c&d=e#f"),
            ("é@1", "100% + \"quoted\" \\ ünï"),
        ] {
            let identity = Identity::parse("acme", scope, key).unwrap();
            let asked = Fingerprint::of_bytes(b"{}");
            let location = Place::default().location(&identity, &asked);
            let uri: http::Uri = location.to_str().unwrap().parse().unwrap();
            assert!(Place::default().is(uri.path()));
            let question = Question::read(uri.query()).unwrap();
            assert_eq!(question.scope, *identity.scope());
            assert_eq!(question.key, *identity.key());
            assert_eq!(question.fingerprint, Some(asked));
        }
    }

    #[test]
    fn a_question_is_asked_as_forms_are_encoded() {
        let question = ask("key=a+b%2Bc&scope=POST+%2Fpay").unwrap();
        assert_eq!(question.key.as_str(), "a b+c");
        assert_eq!(question.scope.to_string(), "POST /pay@1");
        assert_eq!(question.fingerprint, None);
        for (bad, why) in [
            ("", "the parameter scope is missing"),
            ("scope=a", "the parameter key is missing"),
            ("scope=a&key=", "the parameter key is not valid"),
            ("scope=a&key=%00", "the parameter key is not valid"),
            ("scope=a&key=b&key=c", "key: expected once, found twice"),
            ("scope=a&key=%ff", "a parameter is not UTF-8"),
            (
                "scope=a&key=b&tenant=c",
                "expected scope, key and fingerprint",
            ),
            (
                "scope=a&key=b&fingerprint=77",
                "the parameter fingerprint is not valid",
            ),
        ] {
            let found = ask(bad).unwrap_err();
            assert!(found.starts_with(why), "{bad}: {found}");
        }
    }

    #[test]
    fn a_place_is_a_plain_path() {
        for good in ["/a", "/.semel/outcomes", "/v1/ops~x_y"] {
            assert_eq!(Place::new(good).unwrap().to_string(), good);
        }
        for bad in [
            "",
            "/",
            "a",
            "/a/",
            "//a",
            "/a?b",
            "/a b",
            "/../a",
            "/{id}",
            "/é",
            &format!("/{}", "x".repeat(255)),
        ] {
            assert!(Place::new(bad).is_err(), "{bad}");
        }
    }
}
