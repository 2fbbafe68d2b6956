//! What a handler's answer means.

use crate::policy::retry::Failure;
use http::StatusCode;
use semel_core::Timestamp;
use semel_core::inbox::Step;
use serde::Deserialize;

use super::steps;
use crate::exchange::{Answer, Broken};

/// What an answer means for the message.
#[derive(Debug)]
pub(super) enum Meaning {
    /// The effect is applied.
    Done,
    /// There was nothing to do.
    Skip,
    /// One step is done; the message is to be delivered again.
    Step(Step),
    /// It failed.
    Failed(Failure),
}

/// What this answer means; `now` is for dates in it.
pub(super) fn meaning(answer: &Answer, now: Timestamp) -> Meaning {
    let said = answer.header("semel-outcome").map(str::to_ascii_lowercase);
    match said.as_deref() {
        None => by_status(answer, now),
        Some("final") if answer.status.is_success() => success(answer),
        Some("final") => Meaning::Failed(Failure::terminal(describe(answer))),
        Some("retryable") => Meaning::Failed(retryable(answer, now)),
        Some("park") => Meaning::Failed(Failure::park(describe(answer))),
        Some("skip") => Meaning::Skip,
        Some(_) => Meaning::Failed(Failure::terminal(
            "Semel-Outcome is final, retryable, park or skip, found something else",
        )),
    }
}

fn by_status(answer: &Answer, now: Timestamp) -> Meaning {
    match answer.status {
        status if status.is_success() => success(answer),
        status if is_passing(status) => Meaning::Failed(retryable(answer, now)),
        StatusCode::CONFLICT if is_semels_own(answer) => Meaning::Failed(retryable(answer, now)),
        _ => Meaning::Failed(Failure::terminal(describe(answer))),
    }
}

fn success(answer: &Answer) -> Meaning {
    let Some(name) = answer.headers.get("semel-step") else {
        return Meaning::Done;
    };
    let name = name.to_str().unwrap_or("?");
    match steps::step(name.trim(), &answer.body) {
        Ok(step) => Meaning::Step(step),
        Err(failure) => Meaning::Failed(failure),
    }
}

/// Whether a status means that trying again may help.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
}

/// Whether a conflict is a refusal by a Semel that stands before the handler: somebody else runs it, or nobody knows.
fn is_semels_own(answer: &Answer) -> bool {
    #[derive(Deserialize)]
    struct Problem {
        r#type: String,
    }
    let is_problem = answer.media_type().as_deref() == Some("application/problem+json");
    let problem = serde_json::from_slice::<Problem>(&answer.body);
    is_problem
        && problem.is_ok_and(|problem| {
            matches!(
                problem.r#type.strip_prefix("urn:semel:problem:"),
                Some("in-progress" | "outcome-unknown" | "lease-lost" | "late-outcome")
            )
        })
}

fn retryable(answer: &Answer, now: Timestamp) -> Failure {
    match answer.retry_after(now) {
        Some(after) => Failure::retryable_after(after, describe(answer)),
        None => Failure::retryable(describe(answer)),
    }
}

/// The status, never the body.
fn describe(answer: &Answer) -> String {
    let redirect = match answer.status.is_redirection() {
        true => "; redirects are not followed",
        false => "",
    };
    format!("the handler answered {}{redirect}", answer.status)
}

/// What no whole answer means: the handler knows the message's id, so it is asked again.
pub(super) fn broken(broken: &Broken) -> Failure {
    match broken {
        Broken::NotReached(text) => {
            Failure::retryable(format!("the handler was not reached: {text}"))
        }
        Broken::Unknown(text) => Failure::retryable(format!("the handler did not answer: {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::retry::Class;
    use bytes::Bytes;
    use http::{HeaderMap, HeaderName, HeaderValue};
    use std::time::Duration;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Answer {
        let fields = headers.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: fields.collect::<HeaderMap>(),
            body: Bytes::from(body),
        }
    }

    fn class(answer: &Answer) -> Option<Class> {
        match meaning(answer, Timestamp::from_millis(0)) {
            Meaning::Failed(failure) => Some(failure.class),
            Meaning::Done | Meaning::Skip | Meaning::Step(_) => None,
        }
    }

    #[test]
    fn the_status_decides() {
        for status in [200, 201, 202, 204, 226] {
            assert_eq!(class(&answer(status, &[], "")), None, "{status}");
        }
        for status in [408, 425, 429, 500, 502, 503, 504, 599] {
            let class = class(&answer(status, &[], ""));
            assert_eq!(class, Some(Class::Retryable(None)), "{status}");
        }
        for status in [301, 307, 400, 401, 403, 404, 409, 410, 413, 422] {
            let class = class(&answer(status, &[], ""));
            assert_eq!(class, Some(Class::Terminal), "{status}");
        }
        let busy = answer(503, &[("retry-after", "9")], "");
        let nine = Some(Duration::from_secs(9));
        assert_eq!(class(&busy), Some(Class::Retryable(nine)));
    }

    #[test]
    fn the_handlers_word_overrides_the_status() {
        for (said, status, expected) in [
            ("final", 500, Some(Class::Terminal)),
            ("final", 200, None),
            ("retryable", 200, Some(Class::Retryable(None))),
            ("Retryable", 404, Some(Class::Retryable(None))),
            ("park", 200, Some(Class::Park)),
            ("whatever", 200, Some(Class::Terminal)),
        ] {
            let answer = answer(status, &[("semel-outcome", said)], "");
            assert_eq!(class(&answer), expected, "{said} {status}");
        }
        let skip = answer(404, &[("semel-outcome", "skip")], "");
        let skip = meaning(&skip, Timestamp::from_millis(0));
        assert!(matches!(skip, Meaning::Skip));
    }

    #[test]
    fn a_conflict_of_semels_own_passes() {
        let problem = &[("content-type", "application/problem+json")];
        let own = answer(409, problem, r#"{"type":"urn:semel:problem:in-progress"}"#);
        assert_eq!(class(&own), Some(Class::Retryable(None)));
        let other = answer(409, problem, r#"{"type":"urn:semel:problem:key-reused"}"#);
        assert_eq!(class(&other), Some(Class::Terminal));
    }

    #[test]
    fn a_step_is_named_in_a_header() {
        let step = answer(200, &[("semel-step", "charge")], "7");
        let meant = meaning(&step, Timestamp::from_millis(0));
        assert!(matches!(meant, Meaning::Step(step) if &*step.name == "charge"));
        let bad = answer(200, &[("semel-step", "Not A Key")], "7");
        assert_eq!(class(&bad), Some(Class::Terminal));
    }
}
