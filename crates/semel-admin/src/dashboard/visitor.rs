//! Who looks at a page: the holder of a session's cookie or of a bearer token, or, where there are no tokens, every program of this machine.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use semel_http::problem::Problem;

use super::Dashboard;
use super::cookies::{Jar, Keep};
use super::csrf::random;
use crate::tokens::Caller;

/// Who looks, and what the tokens of its forms are bound to.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    /// `None` if it must sign in first.
    pub(super) caller: Option<Caller>,
    /// The value of the cookie that the tokens of its forms are made from: of the session's, or of one that says nothing else.
    pub(super) visit: String,
    /// Whether the browser does not hold that cookie yet.
    is_new: bool,
    /// Whether a session made it known; it can sign out then.
    pub(super) is_signed_in: bool,
}

impl Visitor {
    /// The cookie that its browser is given with the answer.
    pub(super) fn cookie(&self, dashboard: &Dashboard) -> Option<HeaderValue> {
        let cookies = &dashboard.cookies;
        self.is_new
            .then(|| cookies.set(Jar::Visit, &self.visit, Keep::WhileOpen))
    }
}

impl Dashboard {
    /// Who makes this request; a problem if it may not even be asked to sign in.
    pub(super) fn visitor(&self, parts: &Parts) -> Result<Visitor, Problem> {
        if let Some(caller) = self.gate.check_page(parts)? {
            return Ok(self.visiting(Some(caller), &parts.headers));
        }
        let id = self.cookies.get(&parts.headers, Jar::Session);
        let (tokens, now) = (self.gate.tokens(), self.gate.now());
        let found = id.and_then(|id| Some((self.sessions.find(&id, &tokens, now)?, id)));
        Ok(match found {
            Some((token, visit)) => Visitor {
                caller: Some(Caller::Token(token)),
                visit,
                is_new: false,
                is_signed_in: true,
            },
            None => self.visiting(None, &parts.headers),
        })
    }

    /// One without a session.
    fn visiting(&self, caller: Option<Caller>, headers: &HeaderMap) -> Visitor {
        let known = self.cookies.get(headers, Jar::Visit);
        let is_new = known.is_none();
        // Without random numbers the visitor gets a token that fits no form: it can look, and not act.
        let new = || random().map(|id| blake3::Hash::from_bytes(id).to_hex().to_string());
        Visitor {
            caller,
            visit: known.or_else(|| new().ok()).unwrap_or_default(),
            is_new,
            is_signed_in: false,
        }
    }
}
