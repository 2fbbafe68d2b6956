//! The API's description is true.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::{get, post_text};
use crate::server::Server;

#[tokio::test]
async fn every_described_route_exists() {
    let server = Server::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let answer = match method.as_str() {
                "get" => get(server.address, path).await,
                "post" => post_text(server.address, path, "{}").await,
                other => panic!("{other} {path} is not tried"),
            };
            let refused_for = match answer.status {
                200 => continue,
                _ => answer.problem(),
            };
            assert_eq!(refused_for, "invalid-input", "{method} {path}");
        }
    }
}

/// Every value under `$ref`, anywhere.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("$ref", Value::String(target)) => drop(found.insert(target.clone())),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_description_is_whole() {
    let server = Server::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.contains("#/components/schemas/Problem"), "{found:?}");
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(
            document.pointer(pointer).is_some(),
            "{target} leads nowhere"
        );
    }
    let mut ids = BTreeSet::new();
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is used twice");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{id}");
        }
    }
}

#[tokio::test]
async fn the_description_says_which_fields_a_claim_needs() {
    let server = Server::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    let schema = document.pointer("/components/schemas/ClaimInput").unwrap();
    assert_eq!(
        schema["required"],
        serde_json::json!(["tenant", "scope", "key"])
    );
    assert_eq!(schema["additionalProperties"], false);
}
