//! What a sender is told.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use semel_core::inbox::{Receipt, State};
use serde_json::{Map, Value, json};

use super::problem::{self, Problem};

/// When a sender may ask again about a message that is still in progress.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    id: String,
    pub(super) state: State,
    is_duplicate: bool,
    is_conflict: bool,
}

impl Told {
    pub(super) const fn new(id: String, receipt: Receipt) -> Self {
        let (state, is_duplicate, is_conflict) = match receipt {
            Receipt::Stored { state } => (state, false, false),
            Receipt::Duplicate { state } => (state, true, false),
            Receipt::Conflict => (State::Parked, false, true),
        };
        Self {
            id,
            state,
            is_duplicate,
            is_conflict,
        }
    }

    fn document(&self) -> Value {
        let mut document = json!({
            "id": self.id,
            "state": self.state.name(),
            "duplicate": self.is_duplicate,
        });
        if self.is_conflict {
            document["conflict"] = true.into();
        }
        document
    }

    fn meaning(&self, after_effect: bool) -> Meaning {
        match (after_effect, self.state) {
            _ if self.is_conflict => Meaning::Conflict,
            (true, state) if state.is_final() => Meaning::Known,
            (true, state) if state.is_dead_letter() => Meaning::Failed,
            (true, _) => Meaning::InProgress,
            (false, _) if self.is_duplicate => Meaning::Known,
            (false, _) => Meaning::Stored,
        }
    }
}

/// From the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meaning {
    Known,
    Stored,
    InProgress,
    Failed,
    Conflict,
}

/// The answer to a request with these messages.
pub(super) fn response(all: &[Told], after_effect: bool) -> Response {
    let worst = all.iter().map(|told| told.meaning(after_effect)).max();
    let members: Map<String, Value> = match all {
        [one] => match one.document() {
            Value::Object(members) => members,
            _ => Map::new(),
        },
        _ => {
            let documents = all.iter().map(Told::document).collect();
            Map::from_iter([("messages".to_owned(), Value::Array(documents))])
        }
    };
    match worst.unwrap_or(Meaning::Known) {
        Meaning::Known => plain(StatusCode::OK, members),
        Meaning::Stored => plain(StatusCode::ACCEPTED, members),
        Meaning::InProgress => {
            let mut response = plain(StatusCode::ACCEPTED, members);
            problem::retry_after(&mut response, ASK_AGAIN);
            response
        }
        Meaning::Failed => Problem::Failed.with(
            "the message failed for good or is parked; it waits for a person".to_owned(),
            members,
        ),
        Meaning::Conflict => Problem::Conflict.with(
            "a message with this id and another payload is known; this one is parked beside it"
                .to_owned(),
            members,
        ),
    }
}

fn plain(status: StatusCode, members: Map<String, Value>) -> Response {
    let mut response = Response::new(Body::from(Value::Object(members).to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(receipts: &[Receipt], after_effect: bool) -> u16 {
        let told: Vec<Told> = receipts
            .iter()
            .map(|receipt| Told::new("1".into(), *receipt))
            .collect();
        response(&told, after_effect).status().as_u16()
    }

    #[test]
    fn the_worst_message_decides() {
        let new = |state| Receipt::Stored { state };
        let known = |state| Receipt::Duplicate { state };
        for (receipts, after_receive, after_effect) in [
            (vec![new(State::Received)], 202, 202),
            (vec![new(State::Parked)], 202, 422),
            (vec![new(State::SkippedDuplicate)], 202, 200),
            (vec![known(State::Completed)], 200, 200),
            (vec![known(State::InProgress)], 200, 202),
            (vec![known(State::FailedTerminal)], 200, 422),
            (vec![Receipt::Conflict], 409, 409),
            (
                vec![known(State::Completed), new(State::Received)],
                202,
                202,
            ),
            (vec![new(State::Received), Receipt::Conflict], 409, 409),
        ] {
            assert_eq!(status(&receipts, false), after_receive, "{receipts:?}");
            assert_eq!(status(&receipts, true), after_effect, "{receipts:?}");
        }
    }
}
