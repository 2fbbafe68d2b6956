//! What a record says for people about a request: as much as the route allows.

use std::time::Duration;

use http::StatusCode;
use http::request::Parts;
use semel_core::{About, Evidence};

use crate::guard::Failure;

/// How much of a request stands in its record, for people who look for it and decide about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Describe {
    /// Method and path, without the query; and why a call failed.
    #[default]
    Path,
    /// The method only, where paths name people; and why a call failed.
    Method,
    /// Nothing but the status of an answer.
    Off,
}

impl Describe {
    /// What was asked.
    pub(crate) fn about(self, parts: &Parts) -> Option<About> {
        match self {
            Self::Path => About::new(&format!("{} {}", parts.method, parts.uri.path())),
            Self::Method => About::new(&format!("{} …", parts.method)),
            Self::Off => None,
        }
    }

    /// What an answer says that does not tell what came of it.
    pub(crate) fn answered(status: StatusCode) -> Evidence {
        Evidence::new(Some(status.as_u16()), None, Duration::ZERO)
    }

    /// Why there is no answer.
    pub(crate) fn failed(self, failure: &Failure) -> Evidence {
        let said = match (self, failure) {
            (Self::Off, Failure::TimedOut(_)) => "no answer in time".to_owned(),
            (Self::Off, _) => "no answer".to_owned(),
            (Self::Path | Self::Method, Failure::TimedOut(why) | Failure::Unreadable(why)) => {
                why.clone()
            }
            (Self::Path | Self::Method, failure) => failure.to_string(),
        };
        Evidence::new(None, Some(&said), Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    #[test]
    fn a_record_says_as_much_as_the_route_allows() {
        let request = Request::post("/people/ann/pay?token=secret");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let about = |describe: Describe| describe.about(&parts).map(|about| about.to_string());
        assert_eq!(
            about(Describe::Path).as_deref(),
            Some("POST /people/ann/pay")
        );
        assert_eq!(about(Describe::Method).as_deref(), Some("POST …"));
        assert_eq!(about(Describe::Off), None);
        let broken = Failure::Broken("reset by 10.0.0.7".to_owned());
        let said = |describe: Describe| describe.failed(&broken).error().map(str::to_owned);
        assert!(said(Describe::Path).unwrap().contains("10.0.0.7"));
        assert_eq!(said(Describe::Off).as_deref(), Some("no answer"));
    }
}
