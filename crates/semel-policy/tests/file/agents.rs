//! Routes for agents: profiles of their protocols, messages of the Model Context Protocol, the policy and its overlay.

use http::Method;
use jsonpath_rust::JsonPath;
use semel_http::Profile;
use semel_http::mcp::{Mcp, ToolErrors, Tools};
use semel_http::rules::Missing;
use semel_policy::openapi::{Overlay, overlay};
use semel_policy::{explain, warnings};
use serde_json::{Value, json};

use super::{gateway, parse, route};

const AGENTS: &str = include_str!("../../../../docs/agents.md");

#[test]
fn the_examples_of_the_page_for_agents_are_valid() {
    let blocks = AGENTS.split("```yaml\n").skip(1);
    let blocks: Vec<_> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let file = parse(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
        assert!(file.gateway.is_some());
    }
}

#[test]
fn messages_are_posted_and_each_tool_has_a_scope_under_the_routes() {
    let route = route("gateway: { routes: [{ match: { path: /mcp }, mcp: all }] }");
    assert_eq!(route.methods, [Method::POST]);
    assert_eq!(route.rules.scope.to_string(), "mcp@1");
    assert_eq!(route.rules.mcp, Some(Mcp::default()));
    assert_eq!(route.rules.key.iter().count(), 5);
    let named =
        super::route("gateway: { routes: [{ match: { path: /mcp }, mcp: all, scope: shop@2 }] }");
    assert_eq!(named.rules.scope.to_string(), "shop@2");
}

#[test]
fn tools_are_named_or_left_out() {
    let mcp = |written: &str| {
        let text =
            format!("gateway: {{ routes: [{{ match: {{ path: /mcp }}, mcp: {written} }}] }}");
        route(&text).rules.mcp
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(mcp("off"), None);
    let only = mcp("{ tools: [pay, refund], tool_errors: release }").unwrap();
    assert_eq!(only.tools, Tools::Only(names(&["pay", "refund"])));
    assert_eq!(only.tool_errors, ToolErrors::Release);
    let except = mcp("{ except: search }").unwrap();
    assert_eq!(except.tools, Tools::Except(names(&["search"])));
}

#[test]
fn a_route_may_say_otherwise_than_the_protocol_and_than_the_gateway() {
    let text = "gateway: { mcp: all, routes: [\
                { match: { path: /mcp }, key: { header: X-Key }, keep: { release: [429] } },\
                { match: { path: /pay }, mcp: off }] }";
    let routes = gateway(text).routes().unwrap();
    assert!(routes[0].rules.mcp.is_some() && routes[0].rules.key.iter().count() == 1);
    assert!(routes[1..].iter().all(|route| route.rules.mcp.is_none()));
    assert_eq!(routes.len(), 3);
}

#[test]
fn what_messages_cannot_have_is_an_error_with_its_place() {
    for (route, expected) in [
        (
            "mcp: some",
            "gateway.routes[0].mcp: expected all, off or a map of tools, except, tool_errors, found \"some\"",
        ),
        (
            "mcp: { tools: a, except: b }",
            "gateway.routes[0].mcp: expected one of tools, except, found both",
        ),
        (
            "mcp: { tools: [] }",
            "gateway.routes[0].mcp.tools: expected 1 to 1000 tools, found 0",
        ),
        (
            "mcp: all, fingerprint: raw",
            "gateway.routes[0].fingerprint: expected another fingerprint than raw",
        ),
        (
            "mcp: all, profile: acq",
            "gateway.routes[0].profile: expected one of ietf, stripe, paypal, square, adyen, stripe-v2, acp",
        ),
    ] {
        let text = format!("gateway: {{ routes: [{{ match: {{ path: /mcp }}, {route} }}] }}");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for (routes, expected) in [
        (
            "{ match: { path: /a, methods: PUT }, mcp: all }",
            "match.methods: expected POST alone",
        ),
        (
            "{ match: { path: /a }, mcp: all }, { match: { path: /b }, mcp: all }",
            "gateway.routes[1]: expected a scope",
        ),
    ] {
        let error = parse(&format!("gateway: {{ routes: [{routes}] }}")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn profiles_for_agents_and_retries_have_their_defaults() {
    let acp = route("gateway: { profile: acp }").rules;
    assert_eq!((acp.profile, acp.missing), (Profile::Acp, Missing::Require));
    let v2 = route("gateway: { profile: stripe-v2 }").rules;
    assert_eq!(v2.retention.keep().as_secs(), 30 * 86_400);
    let said = |text: &str| warnings(&parse(text).unwrap()).join("\n");
    assert!(said("gateway: { profile: acp }").contains("ACP wants the retry to run"));
    assert!(!said("gateway: { profile: acp, unknown: rerun }").contains("ACP wants"));
    assert!(!said("gateway: { profile: stripe-v2 }").contains("stripe-v2"));
    let kept = "gateway: { profile: stripe-v2, keep: { statuses: [2xx, 500] } }";
    assert!(said(kept).contains("replayed and not tried again"));
}

#[test]
fn messages_in_words() {
    let said = explain(
        &parse("gateway: { mcp: { tools: [pay] }, routes: [{ match: { path: /mcp } }] }").unwrap(),
    );
    let expected =
        "tools/call of pay, as mcp:TOOL@1; results with isError are kept; all other messages pass";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn the_policy_page_is_on_unless_the_file_says_otherwise() {
    let path = |text: &str| gateway(text).policy_page.path().map(str::to_owned);
    assert_eq!(
        path("gateway: {}").as_deref(),
        Some("/.well-known/idempotency-policy")
    );
    assert_eq!(path("gateway: { policy_page: /p }").as_deref(), Some("/p"));
    assert_eq!(path("gateway: { policy_page: off }"), None);
    let error = parse("gateway: { policy_page: here }")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("gateway.policy_page: expected on, off, or a path"),
        "{error}"
    );
}

const SHOP: &str = "
gateway:
  upstream: http://127.0.0.1:8080
  routes:
    - match: { methods: [POST], path: /payments }
      missing: require
    - match: { methods: [POST, PUT], path: '/orders/{id}/capture' }
      scope: capture@1
      key: [{ header: Idempotency-Key }, { query: key }, { body: $.key }]
      unknown: rerun
    - match: { methods: [POST], path: '/v1/{*rest}' }
";

fn shop() -> Overlay {
    overlay(&gateway(SHOP).policy().unwrap())
}

/// The members that the specification allows, and those that it demands.
#[test]
fn the_overlay_is_one_by_the_specification() {
    let Overlay { document, left_out } = shop();
    let members = |value: &Value| {
        let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(members(&document), ["actions", "info", "overlay"]);
    assert_eq!(document["overlay"], "1.0.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let actions = document["actions"].as_array().unwrap();
    assert!(!actions.is_empty());
    for (at, action) in actions.iter().enumerate() {
        let target = action["target"].as_str().unwrap();
        assert!(target.starts_with('$'), "{target}");
        assert!(
            jsonpath_rust::parser::parse_json_path(target).is_ok(),
            "{target}"
        );
        let known = ["target", "description", "update", "remove"];
        assert!(
            members(action)
                .iter()
                .all(|name| known.contains(&name.as_str()))
        );
        assert_ne!(
            action["update"].is_null(),
            action["remove"].is_null(),
            "{action}"
        );
        assert!(!actions[..at].contains(action), "{action} is there twice");
    }
    assert_eq!(left_out.len(), 1);
    assert!(
        left_out[0].starts_with("POST /v1/{*rest}: an overlay cannot name all paths"),
        "{left_out:?}"
    );
}

/// Applies an overlay as the specification has it: objects are merged, lists are joined.
fn apply(document: &mut Value, overlay: &Value) -> Vec<usize> {
    let actions = overlay["actions"].as_array().unwrap();
    actions
        .iter()
        .map(|action| apply_one(document, action))
        .collect()
}

fn apply_one(document: &mut Value, action: &Value) -> usize {
    let found = document
        .query_only_path(action["target"].as_str().unwrap())
        .unwrap();
    let mut pointers: Vec<String> = found.iter().map(|path| pointer(path)).collect();
    // From the end, so that what is removed moves nothing that is still to be removed.
    pointers.reverse();
    for pointer in &pointers {
        match action["remove"] == true {
            true => remove(document, pointer),
            false => merge(document.pointer_mut(pointer).unwrap(), &action["update"]),
        }
    }
    pointers.len()
}

/// A normalized path, `$['a'][0]`, as a JSON pointer.
fn pointer(path: &str) -> String {
    let steps = path
        .trim_start_matches('$')
        .trim_matches(['[', ']'])
        .split("][");
    let steps = steps.map(|step| {
        step.trim_matches('\'')
            .replace('~', "~0")
            .replace('/', "~1")
    });
    steps.map(|step| format!("/{step}")).collect()
}

fn remove(document: &mut Value, pointer: &str) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Array(items) => drop(items.remove(last.parse().unwrap())),
        Value::Object(members) => drop(members.remove(last)),
        other => panic!("{other}"),
    }
}

fn merge(target: &mut Value, update: &Value) {
    match (target, update) {
        (Value::Object(target), Value::Object(update)) => {
            for (name, value) in update {
                merge(target.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(target), Value::Array(update)) => target.extend(update.iter().cloned()),
        (target, update) => *target = update.clone(),
    }
}

#[test]
fn the_overlay_finds_the_operations_of_a_description_and_can_be_applied_again() {
    let api = json!({
        "openapi": "3.1.0",
        "info": { "title": "shop", "version": "1" },
        "paths": {
            "/payments": {
                "post": {
                    "parameters": [
                        { "name": "X-Trace", "in": "header" },
                        { "name": "Idempotency-Key", "in": "header", "required": false },
                    ],
                    "responses": { "201": { "description": "made" } },
                },
                "get": { "responses": {} },
            },
            "/orders/{id}/capture": { "post": { "responses": {} }, "put": { "responses": {} } },
            "/v1/other": { "post": { "responses": {} } },
        },
    });
    let mut described = api.clone();
    let overlay = shop().document;
    apply(&mut described, &overlay);
    let payments = &described["paths"]["/payments"]["post"];
    let parameters = payments["parameters"].as_array().unwrap();
    let names: Vec<_> = parameters
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["X-Trace", "Idempotency-Key"]);
    assert_eq!(parameters[1]["required"], true);
    assert_eq!(parameters[1]["schema"]["maxLength"], 255);
    let statuses = |operation: &Value| {
        let responses = operation["responses"].as_object().unwrap();
        let mut statuses: Vec<_> = responses.keys().cloned().collect();
        statuses.sort();
        statuses
    };
    assert_eq!(
        statuses(payments),
        ["201", "400", "401", "409", "413", "422", "503"]
    );
    assert_eq!(payments["x-idempotency"]["expiry"]["seconds"], 86_400);
    for method in ["post", "put"] {
        let capture = &described["paths"]["/orders/{id}/capture"][method];
        let parameters = capture["parameters"].as_array().unwrap();
        let places: Vec<_> = parameters.iter().map(|one| &one["in"]).collect();
        assert_eq!(places, ["header", "query"]);
        assert_eq!(parameters[0]["required"], false);
        assert_eq!(
            capture["x-idempotency"]["unknown"],
            json!({ "then": "rerun" })
        );
    }
    for untouched in ["/paths/~1payments/get", "/paths/~1v1~1other", "/info"] {
        assert_eq!(
            described.pointer(untouched),
            api.pointer(untouched),
            "{untouched}"
        );
    }
    let once = described.clone();
    apply(&mut described, &overlay);
    assert_eq!(
        described["paths"]["/payments"]["post"]["parameters"],
        once["paths"]["/payments"]["post"]["parameters"]
    );
}

#[test]
fn a_route_for_every_path_is_every_operation_unless_others_have_paths_of_their_own() {
    let of = |text: &str| overlay(&gateway(text).policy().unwrap());
    let everything = of("gateway: {}");
    let mut described =
        json!({ "paths": { "/a": { "post": {} }, "/b": { "post": {}, "patch": {} } } });
    let found = apply(&mut described, &everything.document);
    assert_eq!((found, everything.left_out.len()), (vec![0, 2, 0, 1], 0));
    let mixed = of(
        "gateway: { routes: [{ match: { methods: POST, path: '/{*rest}' } }, { match: { methods: POST, path: /a } }] }",
    );
    assert_eq!(mixed.left_out.len(), 1);
    assert_eq!(mixed.document["actions"][1]["target"], "$.paths['/a'].post");
}
