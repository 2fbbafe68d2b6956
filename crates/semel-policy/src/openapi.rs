//! The idempotency policy as an OpenAPI Overlay (version 1.0): what it adds to the description of an API.
//!
//! An overlay names operations by a JSONPath, and JSONPath compares names of members only for equality. So a pattern must
//! be the path of the description, with the same names between braces; a `{*rest}` below a prefix cannot be said.

use std::collections::BTreeMap;

use semel_http::policy::{Place, Policy, ProblemKind, RoutePolicy, Terms};
use serde_json::{Value, json};

/// The pattern of a route for every path.
const EVERYTHING: &str = "/{*rest}";

/// An overlay, and what it cannot say.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The document.
    pub document: Value,
    /// Routes that are not in it, and why, one sentence each.
    pub left_out: Vec<String>,
}

/// The overlay that adds a policy to the description of the API it is for.
pub fn overlay(policy: &Policy) -> Overlay {
    let (mut actions, mut left_out) = (Vec::new(), Vec::new());
    let mut targets: Vec<String> = Vec::new();
    for route in &policy.routes {
        for method in &route.methods {
            match target(policy, route, method) {
                Ok(target) if targets.contains(&target) => left_out.push(format!(
                    "{method} {}: its path is there already, for another host",
                    route.path
                )),
                Ok(target) => {
                    actions.extend(self::actions(&target, &route.terms));
                    targets.push(target);
                }
                Err(why) => left_out.push(format!("{method} {}: {why}", route.path)),
            }
        }
    }
    let document = json!({
        "overlay": "1.0.0",
        "info": { "title": "Idempotency policy", "version": "1.0.0" },
        "actions": actions,
    });
    Overlay { document, left_out }
}

/// The operations of a route, as a JSONPath (RFC 9535).
fn target(policy: &Policy, route: &RoutePolicy, method: &str) -> Result<String, &'static str> {
    let operation = method.to_lowercase();
    if route.path == EVERYTHING {
        let others = policy
            .routes
            .iter()
            .filter(|other| other.path != route.path);
        let is_only = !others
            .flat_map(|other| &other.methods)
            .any(|other| other == method);
        return match is_only {
            true => Ok(format!("$.paths.*.{operation}")),
            false => Err("beside routes with paths of their own an overlay cannot name all others"),
        };
    }
    if route.path.contains("{*") {
        return Err(
            "an overlay cannot name all paths below another, name each in a route of its own",
        );
    }
    Ok(format!("$.paths['{}'].{operation}", quoted(&route.path)))
}

fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\'', "\\'")
}

/// What is added to an operation. A parameter that it has already is removed first, because lists are joined.
fn actions(target: &str, terms: &Terms) -> Vec<Value> {
    let places = terms.key.places.iter();
    let parameters: Vec<_> = places.filter_map(|place| parameter(place, terms)).collect();
    let mut actions: Vec<Value> = parameters
        .iter()
        .map(|parameter| {
            let name = quoted(parameter["name"].as_str().unwrap_or_default());
            let at = parameter["in"].as_str().unwrap_or_default();
            json!({
                "target": format!("{target}.parameters[?@.name == '{name}' && @.in == '{at}']"),
                "description": "the parameter is said anew below",
                "remove": true,
            })
        })
        .collect();
    let mut update = json!({ "x-idempotency": terms });
    if !parameters.is_empty() {
        update["parameters"] = parameters.into();
    }
    // Of messages the refusals are JSON-RPC errors in answers with status 200.
    if terms.mcp.is_none() {
        update["responses"] = responses(&terms.problems);
    }
    actions.push(json!({ "target": target, "update": update }));
    actions
}

fn parameter(place: &Place, terms: &Terms) -> Option<Value> {
    let name = place.name.as_ref()?;
    if !matches!(place.at, "header" | "query") {
        return None;
    }
    let days = terms.expiry.seconds / 86_400;
    let kept = match days {
        0 => format!("{} seconds", terms.expiry.seconds),
        1 => "one day".to_owned(),
        days => format!("{days} days"),
    };
    Some(json!({
        "name": name,
        "in": place.at,
        // One of several places may be left empty.
        "required": terms.key.required && terms.key.places.len() == 1,
        "description": format!(
            "One key per operation, and the same key for every retry of it. It is remembered for {kept}."
        ),
        "schema": {
            "type": "string",
            "minLength": terms.key.bytes_min,
            "maxLength": terms.key.bytes_max,
        },
    }))
}

/// The refusals by status; several may share one.
fn responses(problems: &[ProblemKind]) -> Value {
    let mut by_status: BTreeMap<String, Vec<&ProblemKind>> = BTreeMap::new();
    for problem in problems {
        let status = problem.status.to_string();
        by_status.entry(status).or_default().push(problem);
    }
    let responses = by_status.into_iter();
    responses
        .map(|(status, problems)| (status, response(&problems)))
        .collect()
}

fn response(problems: &[&ProblemKind]) -> Value {
    let titles: Vec<_> = problems.iter().map(|problem| problem.title).collect();
    let kinds: Vec<_> = problems.iter().map(|problem| &problem.kind).collect();
    json!({
        "description": titles.join("; "),
        "content": { "application/problem+json": { "schema": {
            "type": "object",
            "properties": {
                "type": { "type": "string", "examples": kinds },
                "title": { "type": "string" },
                "status": { "type": "integer" },
                "detail": { "type": "string" },
                "ran": { "type": "string", "enum": ["no", "maybe", "yes"] },
            },
            "required": ["type", "title", "status", "detail", "ran"],
        } } },
    })
}
