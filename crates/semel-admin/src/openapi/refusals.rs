//! Declares refusals as they are sent: `application/problem+json`, with their headers, and those that every call may get.

use axum::http::header::{ALLOW, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use semel_http::problem::Type;
use serde_json::{Map, Value, json};

const PROBLEM_JSON: &str = "application/problem+json";
const SCHEMA: &str = "#/components/schemas/Problem";

/// Refusals of every call but those that are open to all.
const BEHIND_THE_GATE: &[Type] = &[Type::Unauthorized, Type::HostRefused, Type::Forbidden];
/// Refusals of every call of the API.
const OF_THE_API: &[Type] = &[
    Type::InvalidInput,
    Type::Internal,
    Type::StoreUnavailable,
    Type::Overloaded,
];
/// Refusals of every call with a body.
const WITH_A_BODY: &[Type] = &[
    Type::BodyBroken,
    Type::BodyTimeout,
    Type::BodyTooLarge,
    Type::MediaType,
];

/// Adds what every operation refuses, and says of each refusal what it is sent as.
pub(super) fn declare(document: &mut Value) {
    for (path, methods) in members(document, "/paths") {
        for (method, operation) in members(methods, "") {
            for (status, response) in members(operation, "/responses") {
                as_problem(status, response);
            }
            for kind in refusals(path, method) {
                add(&mut operation["responses"], kind);
            }
        }
    }
}

/// The members of the object at a pointer; none if there is no object.
pub(super) fn members<'a>(
    value: &'a mut Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a String, &'a mut Value)> {
    let object = value.pointer_mut(pointer).and_then(Value::as_object_mut);
    object.into_iter().flatten()
}

fn refusals(path: &str, method: &str) -> Vec<Type> {
    let mut refusals = vec![Type::MethodNotAllowed];
    if !crate::gate::OPEN.contains(&path) {
        refusals.extend(BEHIND_THE_GATE);
    }
    if path.starts_with("/api/") {
        refusals.extend(OF_THE_API);
    }
    if method == "post" {
        refusals.extend(WITH_A_BODY);
    }
    refusals
}

/// Declares a type among others of its status.
fn add(responses: &mut Value, kind: Type) {
    let status = kind.status().as_str().to_owned();
    let said = format!("`{}`: {}", kind.name(), kind.title());
    match &mut responses[&status]["description"] {
        Value::String(known) if known.contains(&format!("`{}`", kind.name())) => {}
        Value::String(known) => *known = format!("{known}; or {said}"),
        none => *none = said.into(),
    }
    let response = &mut responses[&status];
    response["content"][PROBLEM_JSON]["schema"] = json!({ "$ref": SCHEMA });
    response["headers"] = headers(&status);
}

/// What utoipa declares as plain JSON.
fn as_problem(status: &str, response: &mut Value) {
    let schema = response.pointer("/content/application~1json/schema/$ref");
    if schema.is_some_and(|schema| schema == SCHEMA) {
        response["content"] = json!({ PROBLEM_JSON: { "schema": { "$ref": SCHEMA } } });
        response["headers"] = headers(status);
    }
}

fn headers(status: &str) -> Value {
    let mut headers = Map::new();
    let mut add = |name: axum::http::HeaderName, required: bool, about: &str, schema: Value| {
        let header = json!({ "description": about, "required": required, "schema": schema });
        headers.insert(canonical(name.as_str()), header);
    };
    let text = || json!({ "type": "string" });
    let about = "The page about the problem, `rel=\"describedby\"`.";
    add(LINK, true, about, text());
    match status {
        "401" => add(
            WWW_AUTHENTICATE,
            true,
            "The scheme: a bearer token.",
            text(),
        ),
        "405" => add(ALLOW, true, "The methods that the path takes.", text()),
        "409" | "429" | "503" => {
            let seconds = json!({ "type": "integer", "minimum": 1 });
            let about = "Seconds until the same call is worth sending again, if it is.";
            add(RETRY_AFTER, false, about, seconds);
        }
        _ => {}
    }
    Value::Object(headers)
}

/// `retry-after` as people write it.
fn canonical(name: &str) -> String {
    let parts = name.split('-').map(|part| match part {
        "www" => "WWW".to_owned(),
        _ => part[..1].to_ascii_uppercase() + &part[1..],
    });
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::super::DOCUMENT;
    use super::*;

    #[test]
    fn every_refusal_is_declared_as_a_problem_with_its_headers() {
        let mut declared = 0;
        for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let is_probe = path == "/readyz" && status == "503";
                    if status.as_str() < "400" || is_probe {
                        continue;
                    }
                    declared += 1;
                    let content = response["content"].as_object().unwrap();
                    assert!(content.keys().eq([PROBLEM_JSON]), "{path} {status}");
                    assert!(response["headers"]["Link"].is_object(), "{path} {status}");
                }
            }
        }
        assert!(declared > 200, "{declared}");
    }

    #[test]
    fn calls_that_change_something_declare_what_their_bodies_may_break() {
        let claim = &DOCUMENT["paths"]["/api/v1/claims"]["post"]["responses"];
        for status in [
            "400", "401", "403", "405", "408", "409", "413", "415", "422", "500", "503",
        ] {
            assert!(claim[status].is_object(), "{status}");
        }
        assert_eq!(
            claim["401"]["headers"]["WWW-Authenticate"]["required"],
            true
        );
        assert_eq!(claim["405"]["headers"]["Allow"]["required"], true);
        assert_eq!(
            claim["503"]["headers"]["Retry-After"]["schema"]["minimum"],
            1
        );
        let open = DOCUMENT["paths"]["/healthz"]["get"]["responses"]
            .as_object()
            .unwrap();
        assert!(open.keys().eq(["200", "405"]));
    }
}
