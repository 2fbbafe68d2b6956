//! Adyen's notifications: the signature is in the notification, over some of its fields, joined by colons.

use serde_json::Value;

use super::key::Proof;
use super::{Checked, Encoding, Signature, decoded};

/// Checks the one item of a notification; `signed` are the fields that count.
pub(super) fn check(signature: &Signature, signed: &[&str], body: &[u8]) -> Checked {
    let document: Value =
        serde_json::from_slice(body).map_err(|_| "the notification is not JSON")?;
    // The id is that of the first item, so a second one would be acknowledged and never looked at.
    let items = document.get("notificationItems").and_then(Value::as_array);
    let item = match items.map(Vec::as_slice) {
        Some([one]) => one.get("NotificationRequestItem"),
        _ => return Err("a notification has exactly one item"),
    };
    let item = item.ok_or("the notification has no NotificationRequestItem")?;
    let written = item.pointer("/additionalData/hmacSignature");
    let written = written.and_then(Value::as_str);
    let written = written.ok_or("the signature is missing")?;
    let proof = decoded(written, Encoding::Base64).ok_or("the signature is malformed")?;
    let fields = signed.iter().map(|path| match item.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => String::new(),
    });
    let fields: Vec<String> = fields.collect();
    signature.any(&[fields.join(":").as_bytes()], &[Proof::Hmac(proof)])
}
