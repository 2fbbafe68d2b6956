//! What a handler's answer means.

use crate::policy::Signal;
use crate::policy::retry::Failure;
use http::StatusCode;
use semel_core::Timestamp;
use semel_core::inbox::Step;

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
        Some("final") => Meaning::Done,
        Some("retryable") => Meaning::Failed(retryable(answer, now)),
        Some("park") => Meaning::Failed(failed(answer, Failure::park)),
        Some("skip") => Meaning::Skip,
        Some(_) => Meaning::Failed(failed(answer, |answered| {
            let allowed = "Semel-Outcome is final, retryable, park or skip";
            Failure::terminal(format!("{allowed}, found something else; {answered}"))
        })),
    }
}

fn by_status(answer: &Answer, now: Timestamp) -> Meaning {
    match answer.status {
        status if status.is_success() => success(answer),
        status if is_passing(status) => Meaning::Failed(retryable(answer, now)),
        _ => Meaning::Failed(failed(answer, Failure::terminal)),
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
    status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 423 | 425 | 429)
}

fn retryable(answer: &Answer, now: Timestamp) -> Failure {
    let after = answer.retry_after(now);
    let failure = failed(answer, |text| match after {
        Some(after) => Failure::retryable_after(after, text),
        None => Failure::retryable(text),
    });
    failure.telling(answer.signal(after))
}

/// A failure that says which status it was and keeps the body.
fn failed(answer: &Answer, make: impl FnOnce(String) -> Failure) -> Failure {
    make(describe(answer)).with_answer(&answer.body)
}

/// The status, never the body.
fn describe(answer: &Answer) -> String {
    let redirect = match answer.status.is_redirection() {
        true => "; redirects are not followed",
        false => "",
    };
    format!("the handler answered {}{redirect}", answer.status)
}

/// What no whole answer means: nothing has happened, or it is not known what has.
pub(super) fn broken(broken: &Broken) -> Failure {
    match broken {
        Broken::NotReached(text) => {
            Failure::not_reached(format!("the handler was not reached: {text}"))
        }
        Broken::Unknown(text) => Failure::unknown(format!("the handler did not answer: {text}")),
        Broken::TimedOut(text) => {
            let failure = Failure::unknown(format!("the handler did not answer: {text}"));
            failure.telling(Signal::Away)
        }
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
        for status in [408, 409, 423, 425, 429, 500, 502, 503, 504, 599] {
            let class = class(&answer(status, &[], ""));
            assert_eq!(class, Some(Class::Retryable(None)), "{status}");
        }
        for status in [301, 307, 400, 401, 403, 404, 410, 413, 422] {
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
            ("final", 500, None),
            ("final", 404, None),
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
    fn a_handler_that_is_away_or_asks_to_be_left_alone_says_so_to_the_circuit() {
        let minute = Duration::from_secs(60);
        let wait = &[("retry-after", "60")][..];
        for (status, headers, expected) in [
            (503, wait, Signal::Busy(minute)),
            (429, wait, Signal::Busy(minute)),
            (503, &[], Signal::Away),
            (502, &[], Signal::Away),
            (504, wait, Signal::Away),
            (429, &[], Signal::Answered),
            (500, wait, Signal::Answered),
            (409, wait, Signal::Answered),
            (401, &[], Signal::Answered),
        ] {
            let answer = answer(status, headers, "");
            let Meaning::Failed(failure) = meaning(&answer, Timestamp::from_millis(0)) else {
                panic!("{status} is a failure");
            };
            assert_eq!(failure.signal, expected, "{status}");
        }
        let broken = |how| super::broken(&how).signal;
        assert_eq!(broken(Broken::NotReached("a".into())), Signal::Away);
        assert_eq!(broken(Broken::TimedOut("a".into())), Signal::Away);
        assert_eq!(broken(Broken::Unknown("a".into())), Signal::Nothing);
    }

    #[test]
    fn the_body_of_a_failed_answer_is_kept_and_not_in_the_text() {
        for status in [400, 500] {
            let answer = answer(status, &[], "s3cret");
            let Meaning::Failed(failure) = meaning(&answer, Timestamp::from_millis(0)) else {
                panic!("{status} is a failure");
            };
            assert_eq!(failure.error.answer().unwrap(), "s3cret");
            assert!(!failure.error.as_str().contains("s3cret"));
        }
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
