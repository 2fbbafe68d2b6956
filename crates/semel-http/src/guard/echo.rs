//! What an answer repeats of the request that it answers; a replay repeats the retry, not the first request.

use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::body::Body;
use crate::mcp;
use crate::profile::Profile;

/// What answers to one request repeat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Echo {
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The id of the call that the request is.
    pub(super) call: Option<mcp::Id>,
}

impl Echo {
    /// What the profile repeats of a request's headers.
    pub(crate) fn of(profile: Profile, headers: &HeaderMap) -> Self {
        let repeated = profile.repeated().iter();
        let repeated = repeated.filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
        Self {
            headers: repeated.collect(),
            call: None,
        }
    }

    /// Puts the headers into an answer.
    pub(super) fn repeat(&self, response: &mut Response<Body>) {
        for (name, value) in &self.headers {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
}
