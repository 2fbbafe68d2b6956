//! What senders are answered: where each message stands, and 2xx for all that is durable.
//!
//! A sender that hears anything else sends again, which helps only if nothing was stored. So a conflict, a message that waits for an earlier
//! version and one that failed are 2xx too; `state`, `cause` and the header `Semel-State` say what became of them.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use semel_core::Identity;
use semel_core::inbox::{Cause, Inbox, Receipt, State};
use semel_http::problem::{self, Problem, Type};
use serde_json::{Map, Value, json};

use super::refused;
use crate::source::Refusal;

/// When a sender may ask again about a message that is still in progress.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// The most messages of one request whose cause the store is asked for.
const CAUSES_MAX: usize = 16;
/// Where the messages of the request stand: each state once.
const STATE: HeaderName = HeaderName::from_static("semel-state");

/// What became of one message of a request.
#[derive(Debug)]
pub(super) enum Told {
    /// It is durable.
    Stored(Stored),
    /// It is no message of this consumer, and nothing was stored.
    Refused(Refusal),
}

/// A message that is durable.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    identity: Identity,
    pub(super) state: State,
    cause: Option<Cause>,
    is_duplicate: bool,
}

impl Stored {
    pub(super) const fn new(identity: Identity, receipt: Receipt) -> Self {
        let (state, is_duplicate, cause) = match receipt {
            Receipt::Stored { state } => (state, false, None),
            Receipt::Duplicate { state, .. } => (state, true, None),
            Receipt::Conflict => (State::Parked, false, Some(Cause::Conflict)),
        };
        Self {
            identity,
            state,
            cause,
            is_duplicate,
        }
    }

    fn is_conflict(&self) -> bool {
        self.cause == Some(Cause::Conflict)
    }

    /// Whether something may still happen to it without a person: it is to run, or waits for others of its key.
    fn is_waiting(&self) -> bool {
        match self.state {
            State::Received | State::InProgress | State::FailedRetryable => true,
            State::Parked => matches!(
                self.cause,
                Some(Cause::Gap | Cause::GapExpired | Cause::BehindFailed)
            ),
            State::Completed | State::SkippedDuplicate | State::FailedTerminal => false,
        }
    }

    /// 200 says that there is nothing more to come: the effect is there, or the message was known.
    fn status(&self, after_effect: bool) -> StatusCode {
        let is_over = match after_effect {
            true => self.state.is_final(),
            false => self.is_duplicate,
        };
        match is_over {
            true => StatusCode::OK,
            false => StatusCode::ACCEPTED,
        }
    }

    fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert("id".into(), self.identity.key().as_str().into());
        document.insert("state".into(), self.state.name().into());
        document.insert("duplicate".into(), self.is_duplicate.into());
        document.insert("waiting".into(), self.is_waiting().into());
        if let Some(cause) = self.cause {
            document.insert("cause".into(), cause.name().into());
        }
        if self.is_conflict() {
            document.insert("conflict".into(), true.into());
        }
        document
    }

    /// Why it stands where it does, if that is not plain, and where it stands by now.
    async fn learn_cause(&mut self, inbox: &dyn Inbox) {
        // Without an answer the sender hears less, not something else.
        if let Ok(Some(detail)) = inbox.message(self.identity.clone()).await {
            (self.state, self.cause) = (detail.entry.state, detail.entry.cause);
        }
    }
}

impl Told {
    fn status(&self, after_effect: bool) -> StatusCode {
        match self {
            Self::Stored(stored) => stored.status(after_effect),
            Self::Refused(refusal) => kind(refusal).status(),
        }
    }

    /// One of several results, which has a status of its own.
    fn item(&self, after_effect: bool) -> Value {
        let mut document = match self {
            Self::Stored(stored) => stored.document(),
            Self::Refused(refusal) => problem(refusal).members(),
        };
        let status = self.status(after_effect).as_u16();
        document.insert("status".into(), status.into());
        Value::Object(document)
    }

    pub(super) const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    const fn stored(&self) -> Option<&Stored> {
        match self {
            Self::Stored(stored) => Some(stored),
            Self::Refused(_) => None,
        }
    }
}

const fn kind(refusal: &Refusal) -> Type {
    match refusal {
        Refusal::IdMissing => Type::MessageIdMissing,
        Refusal::SequenceMissing => Type::MessageSequenceMissing,
        Refusal::Invalid(_) => Type::MessageInvalid,
    }
}

/// The refusal of something that is no message of the consumer.
pub(super) fn problem(refusal: &Refusal) -> Problem {
    Problem::new(kind(refusal), format!("{refusal}, nothing was stored"))
}

/// Asks the store why messages stand where a sender would not expect them.
pub(super) async fn learn_causes(all: &mut [Told], inbox: &dyn Inbox) {
    let unclear = all.iter_mut().filter_map(|told| match told {
        Told::Stored(stored)
            if stored.cause.is_none()
                && (stored.state.is_dead_letter() || stored.state == State::FailedRetryable) =>
        {
            Some(stored)
        }
        Told::Stored(_) | Told::Refused(_) => None,
    });
    for stored in unclear.take(CAUSES_MAX) {
        stored.learn_cause(inbox).await;
    }
}

/// The answer to a request with these messages: one message's own, or one for all with the result of each.
pub(super) fn response(all: &[Told], after_effect: bool) -> Response {
    let items = || {
        let items = all.iter().map(|told| told.item(after_effect)).collect();
        Value::Array(items)
    };
    let results = || Map::from_iter([("messages".to_owned(), items())]);
    let first = all.iter().find_map(|told| match told {
        Told::Refused(refusal) => Some(refusal),
        Told::Stored(_) => None,
    });
    let mut response = match (all, first) {
        ([Told::Stored(one)], _) => plain(one.status(after_effect), one.document()),
        ([Told::Refused(refusal)], _) => refused(problem(refusal)),
        (_, Some(refusal)) if all.iter().all(Told::is_refused) => {
            refused(problem(refusal).with("messages", items()))
        }
        // Some are stored and some are not: each has its own status.
        (_, Some(_)) => plain(StatusCode::MULTI_STATUS, results()),
        (_, None) => {
            let worst = all.iter().map(|told| told.status(after_effect)).max();
            plain(worst.unwrap_or(StatusCode::OK), results())
        }
    };
    let stored = || all.iter().filter_map(Told::stored);
    if after_effect && stored().any(Stored::is_waiting) {
        response
            .headers_mut()
            .insert(RETRY_AFTER, problem::seconds(ASK_AGAIN));
    }
    let mut states: Vec<&str> = stored().map(|stored| stored.state.name()).collect();
    states.sort_unstable();
    states.dedup();
    if let Ok(states) = HeaderValue::from_str(&states.join(", "))
        && !states.is_empty()
    {
        response.headers_mut().insert(STATE, states);
    }
    response
}

fn plain(status: StatusCode, members: Map<String, Value>) -> Response {
    let mut response = Response::new(Body::from(json!(members).to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(receipt: Receipt) -> Told {
        let identity = Identity::parse("public", "mail", "1").unwrap();
        Told::Stored(Stored::new(identity, receipt))
    }

    fn status(all: &[Told], after_effect: bool) -> u16 {
        response(all, after_effect).status().as_u16()
    }

    #[test]
    fn whatever_is_durable_is_2xx_and_200_means_that_nothing_more_is_to_come() {
        let new = |state| Receipt::Stored { state };
        let known = Receipt::duplicate;
        for (receipts, after_receive, after_effect) in [
            (vec![new(State::Received)], 202, 202),
            (vec![new(State::Parked)], 202, 202),
            (vec![new(State::SkippedDuplicate)], 202, 200),
            (vec![known(State::Completed)], 200, 200),
            (vec![known(State::InProgress)], 200, 202),
            (vec![known(State::FailedTerminal)], 200, 202),
            (vec![Receipt::Conflict], 202, 202),
            (
                vec![known(State::Completed), new(State::Received)],
                202,
                202,
            ),
            (vec![known(State::Completed), Receipt::Conflict], 202, 202),
        ] {
            let all: Vec<Told> = receipts.iter().map(|receipt| told(*receipt)).collect();
            assert_eq!(status(&all, false), after_receive, "{receipts:?}");
            assert_eq!(status(&all, true), after_effect, "{receipts:?}");
        }
    }

    #[test]
    fn what_was_not_stored_is_a_problem_alone_and_a_result_of_its_own_among_others() {
        let bad = || Told::Refused(Refusal::IdMissing);
        let stored = || {
            told(Receipt::Stored {
                state: State::Received,
            })
        };
        assert_eq!(status(&[bad()], false), 400);
        assert_eq!(status(&[bad(), bad()], false), 400);
        let mixed = response(&[bad(), stored()], false);
        assert_eq!(mixed.status(), 207);
        assert_eq!(mixed.headers()["semel-state"], "RECEIVED");
    }

    #[test]
    fn states_are_named_once_in_the_header() {
        let all = [
            told(Receipt::Conflict),
            told(Receipt::Conflict),
            told(Receipt::duplicate(State::Completed)),
        ];
        let response = response(&all, false);
        assert_eq!(response.headers()["semel-state"], "COMPLETED, PARKED");
    }
}
