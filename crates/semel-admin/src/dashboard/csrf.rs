//! Tokens of forms: a page elsewhere can make a browser post here, but it cannot know the token.
//!
//! A token is a keyed hash of the visitor's cookie, so that nothing is kept for it. The key is drawn at the start of the process.

use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use semel_core::{Error, Kind, Result};
use semel_http::problem::{Problem, Type};

use crate::gate::only;

/// The field of a form that carries its token.
pub(super) const FIELD: &str = "form_token";
/// What browsers say about who made a request. Pages cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Makes and checks tokens of forms.
pub(super) struct Csrf {
    key: [u8; 32],
}

impl std::fmt::Debug for Csrf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Csrf")
    }
}

impl Csrf {
    pub(super) fn new() -> Result<Self> {
        random().map(|key| Self { key })
    }

    /// The token of all forms of a visitor.
    pub(super) fn token(&self, visit: &str) -> String {
        self.hash(visit).to_hex().to_string()
    }

    /// Refuses a form that does not carry it. Hashes compare in constant time.
    pub(super) fn check(
        &self,
        visit: &str,
        shown: Option<&str>,
    ) -> std::result::Result<(), Problem> {
        let shown = shown.and_then(|shown| blake3::Hash::from_hex(shown).ok());
        match shown.is_some_and(|shown| shown == self.hash(visit)) {
            true => Ok(()),
            false => Err(refused(
                "the form does not carry this visit's token, because it is old or was made elsewhere; open the page again; nothing was changed",
            )),
        }
    }

    fn hash(&self, visit: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.key, visit.as_bytes())
    }
}

/// 32 bytes that cannot be guessed.
pub(super) fn random() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system gives no random numbers: {error}");
        Error::new(Kind::Internal, message)
    })?;
    Ok(bytes)
}

/// What a form must be before its body is read: a form, and posted by a page of this very origin. Browsers say the latter, programs
/// that are none need not.
pub(super) fn check_origin(headers: &HeaderMap) -> std::result::Result<(), Problem> {
    let is_form = only(headers, &CONTENT_TYPE).is_some_and(|value| {
        let essence = value.split(';').next().unwrap_or_default();
        essence
            .trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    });
    if !is_form {
        let detail = "expected Content-Type: application/x-www-form-urlencoded, as the page's forms send it; nothing was changed";
        return Err(Problem::new(Type::MediaType, detail));
    }
    let is_foreign_site = site(headers).is_some_and(|site| site != "same-origin");
    let is_foreign_origin = headers.contains_key(ORIGIN) && !is_own_origin(headers);
    match is_foreign_site || is_foreign_origin {
        true => Err(refused(
            "the form was posted by a page of another origin; nothing was changed",
        )),
        false => Ok(()),
    }
}

/// Refuses what a page of another origin asks for: it could not read the answer, and yet use up what is bounded.
pub(super) fn check_site(headers: &HeaderMap) -> std::result::Result<(), Problem> {
    match site(headers) {
        Some(site) if site != "same-origin" && site != "none" => Err(refused(
            "a page of another origin asked for this; open the dashboard itself",
        )),
        _ => Ok(()),
    }
}

/// Where the request came from, as browsers say it.
fn site(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(SEC_FETCH_SITE)
}

/// Whether `Origin` names the host that the request is for.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let origin = only(headers, &ORIGIN).and_then(|origin| origin.split_once("://"));
    let host = only(headers, &HOST);
    matches!((origin, host), (Some(("http" | "https", named)), Some(host)) if named.eq_ignore_ascii_case(host))
}

fn refused(detail: &str) -> Problem {
    Problem::new(Type::Forbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_visitor_and_this_process_only() {
        let csrf = Csrf::new().unwrap();
        let token = csrf.token("a");
        assert!(csrf.check("a", Some(&token)).is_ok());
        for (visit, shown) in [
            ("b", Some(token.as_str())),
            ("a", None),
            ("a", Some("")),
            ("a", Some(&token[1..])),
            ("a", Some("00")),
        ] {
            assert!(csrf.check(visit, shown).is_err(), "{visit} {shown:?}");
        }
        assert!(Csrf::new().unwrap().check("a", Some(&token)).is_err());
    }

    #[test]
    fn a_form_comes_from_this_origin() {
        const FORM: &str = "application/x-www-form-urlencoded";
        for (site, origin, kind, expected) in [
            (None, None, FORM, Ok(())),
            (
                Some("same-origin"),
                Some("http://localhost:7071"),
                FORM,
                Ok(()),
            ),
            (None, Some("https://LOCALHOST:7071"), FORM, Ok(())),
            (Some("cross-site"), None, FORM, Err(Type::Forbidden)),
            (Some("same-site"), None, FORM, Err(Type::Forbidden)),
            (Some("none"), None, FORM, Err(Type::Forbidden)),
            (None, Some("null"), FORM, Err(Type::Forbidden)),
            (
                None,
                Some("http://localhost:7072"),
                FORM,
                Err(Type::Forbidden),
            ),
            (
                None,
                Some("http://evil.example"),
                FORM,
                Err(Type::Forbidden),
            ),
            (None, None, "text/plain", Err(Type::MediaType)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("localhost:7071"));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            if let Some(site) = site {
                headers.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
            }
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            let found = check_origin(&headers).map_err(|problem| problem.kind());
            assert_eq!(found, expected, "{site:?} {origin:?} {kind}");
        }
    }
}
