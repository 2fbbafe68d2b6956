//! The limits of fields: one table for bodies and parameters, because a field means the same wherever it is taken.

use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Cause, State};
use semel_core::store::StateFilter;
use semel_core::{LeaseTerm, Retention};
use serde_json::{Value, json};

use super::refusals::members;
use crate::api::claims::WAIT_MAX;
use crate::api::fields::{BY_BYTES_MAX, NONCE_CHARS_MAX, NUMBER_MAX};
use crate::api::inbox::REASON_BYTES_MAX;

/// No control characters, as every part of an identity.
const PART: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";
/// The same, and not only a version.
const SCOPE: &str = r"^(?!@(0|[1-9][0-9]{0,9})$)[^\x00-\x1f\x7f-\x9f]+$";
const TOKEN: &str = r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$";
const HEADER_VALUE: &str = r"^[^\x00-\x08\x0a-\x1f\x7f-\x9f]*$";
const HEX: &str = "^[0-9A-Fa-f]{64}$";
const BASE64: &str =
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";
const REASON: &str = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$";

/// Inputs whose reason must say something.
const REASONED: [&str; 4] = [
    "ResolveManyInput",
    "ReconcileInput",
    "ReconcileManyInput",
    "EditInput",
];

/// Writes the limits into every body and parameter.
pub(super) fn declare(document: &mut Value) {
    for (_, methods) in members(document, "/paths") {
        for (_, operation) in members(methods, "") {
            let parameters = operation
                .get_mut("parameters")
                .and_then(Value::as_array_mut);
            parameters.into_iter().flatten().for_each(parameter);
        }
    }
    for (name, schema) in members(document, "/components/schemas") {
        let is_input = name.ends_with("Input");
        for (field, schema) in members(schema, "/properties") {
            match is_input {
                true => limit(schema, &limits(field)),
                false => moment(field, schema),
            }
        }
        if REASONED.contains(&name.as_str()) {
            // What many share, what another payload does and what a provider is asked is not decided without a word.
            limit(&mut schema["properties"]["reason"], &said());
        }
        exclusive(name, schema);
    }
}

/// A query has no null.
fn parameter(parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let schema = &mut parameter["schema"];
    if let Some(Value::Array(types)) = schema.get("type") {
        schema["type"] = types.first().cloned().unwrap_or_default();
    }
    let is_number = schema["type"] == "integer";
    let limits = match name.as_str() {
        "before" if is_number => number(),
        "state" => query_state(parameter.get("description")),
        _ => limits(&name),
    };
    limit(&mut parameter["schema"], &limits);
}

/// Records are listed in one state, messages in several.
fn query_state(description: Option<&Value>) -> Value {
    let names = State::ALL.map(State::name).join("|");
    let description = description.and_then(Value::as_str).unwrap_or_default();
    match description.contains("commas") {
        true => json!({ "pattern": format!("^({names})(,({names}))*$"), "maxLength": 255 }),
        false => json!({ "enum": StateFilter::ALL.map(StateFilter::name) }),
    }
}

/// What a field must be, beside its type.
fn limits(field: &str) -> Value {
    match field {
        "tenant" | "key" | "id" | "lane" => part(PART),
        "by" => json!({ "minLength": 1, "maxLength": BY_BYTES_MAX, "pattern": PART }),
        "scope" | "consumer" => part(SCOPE),
        "ids" => {
            json!({ "maxItems": SELECT_IDS_MAX, "items": { "type": "string", "pattern": PART, "minLength": 1, "maxLength": 255 } })
        }
        "states" => json!({ "items": { "type": "string", "enum": State::ALL.map(State::name) } }),
        "cause" => json!({ "enum": Cause::ALL.map(Cause::name) }),
        "fence" => number(),
        "nonce" => json!({ "minLength": 1, "maxLength": NONCE_CHARS_MAX, "pattern": "^[!-~]+$" }),
        "before" => json!({ "minLength": 1, "maxLength": 1_024, "pattern": "^[!-~]+$" }),
        "fingerprint" => json!({ "pattern": HEX }),
        "lease" => json!({ "pattern": durations(1, LeaseTerm::MAX.as_millis()) }),
        "retention" => json!({ "pattern": durations(1, Retention::MAX.as_millis()) }),
        "wait" => json!({ "pattern": durations(0, WAIT_MAX.as_millis()) }),
        "took" => json!({ "pattern": durations(0, Retention::MAX.as_millis()) }),
        "status" => json!({ "minimum": 200, "maximum": 599 }),
        "headers" => json!({ "items": {
            "type": "array",
            "prefixItems": [
                { "type": "string", "pattern": TOKEN, "maxLength": 255 },
                { "type": "string", "pattern": HEADER_VALUE, "maxLength": 8_192 },
            ],
            "items": false,
            "minItems": 2,
            "maxItems": 2,
        }}),
        "body_base64" => json!({ "contentEncoding": "base64", "pattern": BASE64 }),
        "method" => json!({ "minLength": 1, "maxLength": 32, "pattern": "^[A-Za-z]+$" }),
        "reason" => json!({ "maxLength": REASON_BYTES_MAX, "pattern": REASON }),
        "from" | "until" | "older_than" => json!({ "anyOf": [
            { "format": "date-time" },
            { "format": "date" },
            { "pattern": durations(0, Retention::MAX.as_millis()) },
        ]}),
        _ => json!({}),
    }
}

/// A text that says something.
fn said() -> Value {
    json!({ "minLength": 1, "pattern": r"^(?=.*[!-~])[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$" })
}

fn number() -> Value {
    json!({ "format": "int64", "minimum": 0, "maximum": NUMBER_MAX })
}

fn part(pattern: &str) -> Value {
    json!({ "minLength": 1, "maxLength": 255, "pattern": pattern })
}

/// Adds limits to what utoipa says; where a field may be null, null is within them.
fn limit(schema: &mut Value, limits: &Value) {
    let may_be_null = schema.get("type").is_some_and(Value::is_array);
    let (Some(schema), Some(limits)) = (schema.as_object_mut(), limits.as_object()) else {
        return;
    };
    for (name, value) in limits {
        let mut value = value.clone();
        if let (true, "enum", Value::Array(names)) = (may_be_null, name.as_str(), &mut value) {
            names.push(Value::Null);
        }
        schema.insert(name.clone(), value);
    }
}

/// Instants of answers are RFC 3339.
fn moment(field: &str, schema: &mut Value) {
    let kind = schema.get("type").cloned().unwrap_or_default();
    let is_text = kind == "string" || kind == json!(["string", "null"]);
    let is_moment = ["at", "since", "deadline"].contains(&field)
        || field.ends_with("until")
        || field.ends_with("_at");
    if is_text && is_moment {
        schema["format"] = "date-time".into();
    }
}

/// Fields of which only one may be given.
fn exclusive(name: &str, schema: &mut Value) {
    let fields = match name {
        "ClaimInput" => ["request", "fingerprint"],
        "SettleInput" | "ResolveInput" | "ResolveManyInput" | "EditInput" => {
            ["body", "body_base64"]
        }
        "Takeover" => return closed(schema),
        _ => return,
    };
    let given = json!({ "not": { "type": "null" } });
    schema["not"] =
        json!({ "required": fields, "properties": { fields[0]: given, fields[1]: given } });
}

/// The variants of an enum that are objects have no other fields.
fn closed(schema: &mut Value) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        if variant["type"] == "object" {
            variant["additionalProperties"] = false.into();
            limit(&mut variant["properties"]["of"], &number());
        }
    }
}

/// A duration from `min` (0 or 1) to `max_ms` milliseconds, in each unit.
fn durations(min: u64, max_ms: u128) -> String {
    let units = [
        ("ms", 1),
        ("s", 1_000),
        ("m", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
    ];
    let spelled = units.iter().map(|(unit, ms)| {
        let numbers = up_to(&(max_ms / ms).to_string());
        format!("({numbers}){unit}")
    });
    let spelled: Vec<_> = spelled.collect();
    let zero = if min == 0 { "0+(ms|s|m|h|d)|" } else { "" };
    format!("^({zero}0*({}))$", spelled.join("|"))
}

/// The numbers from 1 to `max`, without leading zeros.
fn up_to(max: &str) -> String {
    let digits = max.as_bytes();
    let mut forms = Vec::new();
    if digits.len() > 1 {
        forms.push(format!("[1-9][0-9]{{0,{}}}", digits.len() - 2));
    }
    for (at, digit) in digits.iter().enumerate() {
        let low = if at == 0 { b'1' } else { b'0' };
        let rest = digits.len() - at - 1;
        if *digit > low {
            let (low, below) = (char::from(low), char::from(digit - 1));
            forms.push(format!("{}[{low}-{below}][0-9]{{{rest}}}", &max[..at]));
        }
    }
    forms.push(max.to_owned());
    forms.join("|")
}

#[cfg(test)]
mod tests {
    use super::super::DOCUMENT;
    use super::*;

    #[test]
    fn the_largest_number_and_all_below_it_have_a_form() {
        assert_eq!(
            up_to("24"),
            "[1-9][0-9]{0,0}|[1-1][0-9]{1}|2[0-3][0-9]{0}|24"
        );
        assert_eq!(up_to("1"), "1");
    }

    #[test]
    fn a_field_has_its_limits_in_bodies_and_in_parameters() {
        let claim = &DOCUMENT["components"]["schemas"]["ClaimInput"]["properties"];
        assert_eq!(claim["tenant"]["maxLength"], 255);
        assert_eq!(claim["fingerprint"]["pattern"], HEX);
        let look_up = &DOCUMENT["paths"]["/api/v1/claims"]["get"]["parameters"];
        for parameter in look_up.as_array().unwrap() {
            let is_wait = parameter["name"] == "wait";
            let limited = if is_wait { "pattern" } else { "minLength" };
            assert!(parameter["schema"][limited] != Value::Null, "{parameter}");
        }
        let listed = DOCUMENT["paths"]["/api/v1/records"]["get"]["parameters"]
            .as_array()
            .unwrap();
        let state = listed
            .iter()
            .find(|parameter| parameter["name"] == "state")
            .unwrap();
        assert_eq!(state["schema"]["enum"].as_array().unwrap().len(), 6);
        assert_eq!(state["schema"]["type"], "string");
    }
}
