//! What a response means for the record of its call.

use semel_core::Verdict;
use serde::Deserialize;
use serde_json::Value;

use super::id::Response;
use super::{Id, Mcp, ToolErrors};
use crate::rules::Class;

/// Errors that a server reports before it runs a tool: no JSON, no request, no such method, headers that do not agree,
/// a capability or a version that is missing, a page that the user must visit first.
const BEFORE_THE_TOOL: [i64; 7] = [-32700, -32600, -32601, -32020, -32021, -32022, -32042];
/// A server behind the server did not answer in time; the tool may have run.
const TIMED_OUT: i64 = -32001;

/// What a body means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// For the record.
    pub(crate) class: Class,
    /// Whether the call succeeded.
    pub(crate) verdict: Verdict,
}

const fn meaning(class: Class, verdict: Verdict) -> Meaning {
    Meaning { class, verdict }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Outcome {
    is_error: Value,
    result_type: Value,
}

impl Mcp {
    /// What the body of an answer with a good status means. One that does not answer the call says nothing about what
    /// happened.
    pub(crate) fn meaning(&self, id: &Id, body: &[u8]) -> Meaning {
        let text = std::str::from_utf8(body).ok();
        let Some(response) = text.and_then(Response::read) else {
            return meaning(Class::Unknown, Verdict::Failed);
        };
        if let Some(error) = response.error {
            return of_error(error.get());
        }
        let is_ours = response.id.is_some_and(|found| id.is(found));
        match response.result {
            Some(result) if is_ours => self.of_result(result.get()),
            _ => meaning(Class::Unknown, Verdict::Failed),
        }
    }

    fn of_result(&self, result: &str) -> Meaning {
        let outcome: Outcome = serde_json::from_str(result).unwrap_or_default();
        if outcome.result_type == "input_required" {
            // The server asks for more; the client calls again with it, and with the same key.
            return meaning(Class::Release, Verdict::Failed);
        }
        match (outcome.is_error == true, self.tool_errors) {
            (false, _) => meaning(Class::Keep, Verdict::Succeeded),
            (true, ToolErrors::Keep) => meaning(Class::Keep, Verdict::Failed),
            (true, ToolErrors::Release) => meaning(Class::Release, Verdict::Failed),
        }
    }

    /// The response to a call in the data of an event, if it is that.
    pub(crate) fn response_in(id: &Id, data: &str) -> bool {
        let response = Response::read(data);
        response.is_some_and(|response| response.id.is_some_and(|found| id.is(found)))
    }
}

/// Invalid params are kept: servers report with this code also what failed inside of a tool.
fn of_error(error: &str) -> Meaning {
    #[derive(Deserialize)]
    struct Error {
        code: i64,
    }
    let class = match serde_json::from_str::<Error>(error) {
        Ok(Error { code }) if BEFORE_THE_TOOL.contains(&code) => Class::Release,
        Ok(Error { code: TIMED_OUT }) => Class::Unknown,
        _ => Class::Keep,
    };
    meaning(class, Verdict::Failed)
}
