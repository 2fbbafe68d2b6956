//! Messages as parameters of statements.

use bytes::Bytes;
use semel_core::Timestamp;
use semel_core::inbox::{Message, Plan, State};

use super::super::lanes::sql_sequence;
use super::super::rows::signed;
use super::{New, tenant};
use crate::value::Value;

pub(super) fn enter_values(plan: &Plan, new: &[New<'_>], now: Timestamp) -> Vec<Value> {
    let expires_ms = now.after(plan.retention.keep()).as_millis();
    let ints = |of: &dyn Fn(&New<'_>) -> Option<i64>| Value::Ints(new.iter().map(of).collect());
    let texts =
        |of: &dyn Fn(&New<'_>) -> Option<String>| Value::Texts(new.iter().map(of).collect());
    let is_skipped = |n: &New<'_>| n.placed.state == State::SkippedDuplicate;
    vec![
        Value::text(plan.consumer.to_string()),
        Value::int(now.as_millis()),
        Value::int(0),
        Value::Uuids(new.iter().map(|n| n.digest).collect()),
        ints(&|_| Some(expires_ms)),
        ints(&|n| Some(n.number)),
        ints(&|_| Some(now.as_millis())),
        ints(&|n| n.placed.is_due.then_some(now.as_millis())),
        ints(&|n| match is_skipped(n) {
            // How long it stays for people to see.
            true => Some(expires_ms),
            false => n.placed.deadline.map(Timestamp::as_millis),
        }),
        ints(&|n| n.lane.as_ref().map(|(_, sequence)| sql_sequence(*sequence))),
        ints(&|_| Some(0)),
        ints(&|n| Some(i64::from(n.placed.state.number()))),
        Value::ByteStrings(new.iter().map(|n| Some(print(&n.message))).collect()),
        texts(&|n| n.lane.as_ref().map(|(key, _)| key.lane.clone())),
        texts(&|n| n.placed.cause.map(|cause| cause.name().to_owned())),
        texts(&|n| n.lane.as_ref().map(|(key, _)| key.tenant.clone())),
        ints(&|_| Some(0)),
        texts(&|n| n.message.unreadable().map(str::to_owned)),
    ]
}

fn print(message: &Message) -> Bytes {
    Bytes::copy_from_slice(message.fingerprint().as_bytes())
}

pub(super) fn store_values(
    plan: &Plan,
    new: &[New<'_>],
    now: Timestamp,
    expires_ms: i64,
) -> Vec<Value> {
    let messages = || new.iter().map(|new| new.message.as_ref());
    let ints = |of: &dyn Fn(&Message) -> Option<i64>| Value::Ints(messages().map(of).collect());
    let texts = |of: &dyn Fn(&Message) -> Option<&str>| {
        Value::Texts(messages().map(|m| of(m).map(str::to_owned)).collect())
    };
    let headers = messages().map(|message| {
        let headers = message.headers();
        (!headers.is_empty()).then(|| headers.encode().into())
    });
    vec![
        Value::int(now.as_millis()),
        Value::int(expires_ms),
        Value::text(plan.consumer.name()),
        Value::int(plan.consumer.version()),
        Value::Uuids(new.iter().map(|n| n.digest).collect()),
        Value::ints(new.iter().map(|n| n.number)),
        ints(&|m| m.sequence().map(signed)),
        ints(&|m| m.origin().offset),
        ints(&|m| m.origin().partition.map(i64::from)),
        ints(&|m| m.version().map(i64::from)),
        texts(&|m| Some(tenant(m))),
        texts(&|m| Some(m.identity().key().as_str())),
        Value::ByteStrings(messages().map(|m| Some(print(m))).collect()),
        texts(&|m| m.lane().map(semel_core::Key::as_str)),
        texts(&|m| m.kind()),
        texts(&|m| Some(m.origin().topic.as_str()).filter(|topic| !topic.is_empty())),
        Value::ByteStrings(headers.collect()),
        Value::ByteStrings(messages().map(|m| Some(m.payload().clone())).collect()),
    ]
}
