use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::mcp::{Mcp, Tools};
use crate::rules::Rules;
use crate::{Profile, tenant};

fn policy(change: impl FnOnce(&mut Rules)) -> Policy {
    let mut rules = Rules::new("payments@1".parse().unwrap());
    change(&mut rules);
    Policy::of([Stated {
        methods: &[Method::POST],
        hosts: &[],
        path: "/payments",
        rules: &rules,
        reconciles: false,
    }])
}

fn stated(change: impl FnOnce(&mut Rules)) -> Value {
    let document = serde_json::to_value(policy(change)).unwrap();
    document["routes"][0].clone()
}

#[test]
fn the_policy_says_what_the_draft_asks_for() {
    let route = stated(|_| {});
    assert_eq!(route["methods"], json!(["POST"]));
    assert_eq!(route["path"], "/payments");
    assert_eq!(
        route["key"]["places"],
        json!([{ "in": "header", "name": "Idempotency-Key" }])
    );
    assert_eq!(route["key"]["required"], false);
    assert_eq!(route["key"]["bytes_max"], 255);
    assert_eq!(route["expiry"]["seconds"], 86_400);
    assert_eq!(route["compared"]["body"], "canonical_json");
    assert_eq!(
        route["compared"]["head"],
        json!(["method", "path", "query", "host"])
    );
    assert_eq!(
        route["responses"]["replayed"],
        json!(["2xx", "3xx", "4xx", "500"])
    );
    assert_eq!(
        route["in_progress"],
        json!({ "wait_ms": 2_000, "status": 409 })
    );
    assert_eq!(route["unknown"], json!({ "then": "hold", "status": 409 }));
}

#[test]
fn the_policy_follows_the_profile() {
    let of = |profile: Profile| stated(|rules| *rules = profile.rules(rules.scope.clone()));
    let reused = |route: &Value| {
        let problems = route["problems"].as_array().unwrap().clone();
        let is_reused = |problem: &&Value| problem["type"] == "urn:semel:problem:key-reused";
        problems.iter().find(is_reused).unwrap()["status"].clone()
    };
    assert_eq!(reused(&of(Profile::Ietf)), 422);
    assert_eq!(reused(&of(Profile::Stripe)), 400);
    let acp = of(Profile::Acp);
    assert_eq!(acp["key"]["required"], true);
    assert_eq!(acp["problems"][0]["type"], "urn:semel:problem:key-missing");
    let stripe = of(Profile::StripeV2);
    assert_eq!(stripe["expiry"]["seconds"], 30 * 86_400);
    assert_eq!(stripe["responses"]["released"], json!(["4xx"]));
}

#[test]
fn callers_and_tools_are_named_and_nothing_is_told_about_them() {
    let route = stated(|rules| {
        let tools = Tools::Only(vec!["pay".to_owned()]);
        let mcp = Mcp {
            tools,
            ..Mcp::default()
        };
        mcp.apply(rules);
        rules.tenant = tenant::Source::ApiKey("x-api-key".parse().unwrap());
    });
    assert_eq!(
        route["caller"],
        json!({ "by": "api_key", "header": "X-Api-Key" })
    );
    assert_eq!(
        route["mcp"],
        json!({ "method": "tools/call", "tools": ["pay"], "tool_errors": "replayed" })
    );
    assert_eq!(route["key"]["places"][0]["in"], "body");
}

#[test]
fn people_read_the_same() {
    let text = policy(|rules| *rules = Profile::Acp.rules(rules.scope.clone())).to_string();
    for line in [
        "POST /payments\n",
        "  key         header Idempotency-Key; 1 to 255 bytes\n",
        "  no key      refused\n",
        "  expiry      1d after the first request has ended\n",
        "  replayed    2xx 3xx 4xx\n",
        "  released    401 403 408 425 429, and with Retry-After 503\n",
        "  running     a duplicate waits up to 2s, then gets 409\n",
        "  unknown     hold; a duplicate gets 409 until then\n",
        "409 in-progress",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
