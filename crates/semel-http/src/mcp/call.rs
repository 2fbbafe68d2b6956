//! Reads a posted message: is it a call, of which tool, and what does it ask for?

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};
use semel_core::fingerprint::canonical;
use semel_core::{Error, Result};
use serde_json::value::{RawValue, to_raw_value};

use super::{Id, Mcp, TOOL_BYTES_MAX, folded};
use crate::fingerprint::content::without_bom;

const CALL: &str = "tools/call";
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
/// How a name that is no plain text stands in `Mcp-Name`.
const ENCODED: &str = "=?base64?";

/// Members of messages and of calls that a server acts on.
const OF_MESSAGES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
const OF_CALLS: [&str; 3] = ["name", "arguments", "_meta"];

/// What of `_meta` may differ between two attempts of one call: where progress is reported, traces, and what the protocol
/// itself keeps there.
const VOLATILE: [&str; 4] = ["progressToken", "traceparent", "tracestate", "baggage"];
const PROTOCOLS_OWN: &str = "io.modelcontextprotocol/";

/// The members of an object; their values as they are written.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// What a posted body is.
#[derive(Debug)]
pub(crate) enum Reading {
    /// A call of a tool that is guarded.
    Call(Call),
    /// Something else, which passes.
    Other,
}

/// A call of a tool that is guarded.
#[derive(Debug)]
pub(crate) struct Call {
    /// By which the answer is known among other messages.
    pub(crate) id: Id,
    /// Which tool.
    pub(crate) tool: String,
    /// The message without what differs between attempts.
    pub(crate) compared: Bytes,
}

impl Mcp {
    /// Reads a body. What cannot be read is an error, and never something else than a call.
    pub(crate) fn read(&self, headers: &HeaderMap, body: &[u8]) -> Result<Reading> {
        is_plain(headers)?;
        let text = std::str::from_utf8(without_bom(body)).map_err(|_| unreadable("not UTF-8"))?;
        let is_batch = text.trim_ascii_start().starts_with('[');
        let messages: Vec<&RawValue> = match is_batch {
            true => serde_json::from_str(text).map_err(unreadable)?,
            false => vec![serde_json::from_str(text).map_err(unreadable)?],
        };
        if !canonical::fields_are_unique(text.as_bytes()) {
            return Err(Error::invalid("the message names a member more than once"));
        }
        let messages = messages.into_iter().map(members);
        let messages = messages.collect::<Result<Vec<_>>>()?;
        let calls = messages.iter().map(is_call).collect::<Result<Vec<_>>>()?;
        let is_call = calls.contains(&true);
        agrees(headers, &METHOD_HEADER, |said| (said == CALL) == is_call)?;
        match (messages.into_iter().next(), is_call, is_batch) {
            (_, true, true) => Err(Error::invalid(
                "tools/call in a batch cannot be guarded, send each call by itself",
            )),
            (Some(message), true, false) => self.call(headers, &message),
            _ => Ok(Reading::Other),
        }
    }

    fn call(&self, headers: &HeaderMap, message: &Members<'_>) -> Result<Reading> {
        let params = message.get("params").copied();
        let params = params.ok_or_else(|| Error::invalid("tools/call needs params"))?;
        let params: Members<'_> = serde_json::from_str(params.get()).map_err(unreadable)?;
        is_spelled(&params, &OF_CALLS)?;
        let tool = params.get("name").and_then(|name| text(name));
        let tool = tool.filter(|tool| (1..=TOOL_BYTES_MAX).contains(&tool.len()));
        let tool = tool.ok_or_else(|| {
            Error::invalid(format!(
                "tools/call needs params.name, a text of 1 to {TOOL_BYTES_MAX} bytes"
            ))
        })?;
        agrees(headers, &NAME_HEADER, |said| {
            said == tool || said.starts_with(ENCODED)
        })?;
        if !self.guards(&tool)? {
            return Ok(Reading::Other);
        }
        let id = message.get("id").and_then(|id| Id::read(id));
        let id = id
            .ok_or_else(|| Error::invalid("tools/call needs an id, which is a text or a number"))?;
        let compared = compared(message, params)?;
        Ok(Reading::Call(Call { id, tool, compared }))
    }
}

/// A body that is compressed or in another alphabet would be read by the server, and not here.
fn is_plain(headers: &HeaderMap) -> Result<()> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let is_identity = |value: &[u8]| value.trim_ascii().eq_ignore_ascii_case(b"identity");
    if !encodings.all(|value| is_identity(value.as_bytes())) {
        return Err(unreadable("compressed: send it without Content-Encoding"));
    }
    let types = headers.get_all(CONTENT_TYPE).iter();
    let mut types = types.map(|value| String::from_utf8_lossy(value.as_bytes()).to_lowercase());
    let is_utf8 = |kind: String| match kind.split_once("charset=") {
        None => true,
        Some((_, charset)) => {
            let charset = charset.split(';').next().unwrap_or_default();
            matches!(
                charset.trim().trim_matches('"'),
                "utf-8" | "utf8" | "us-ascii"
            )
        }
    };
    match types.all(is_utf8) {
        true => Ok(()),
        false => Err(unreadable("not UTF-8")),
    }
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    // The parser's message says where, and nothing of what is there.
    Error::invalid(format!("the JSON-RPC message cannot be read: {why}"))
}

fn members(message: &RawValue) -> Result<Members<'_>> {
    let members: Members<'_> = serde_json::from_str(message.get()).map_err(unreadable)?;
    is_spelled(&members, &OF_MESSAGES)?;
    Ok(members)
}

/// Some parsers take `Method` for `method`, and would run what is not seen to be a call here.
fn is_spelled(members: &Members<'_>, known: &[&str]) -> Result<()> {
    let is_odd = |name: &&String| !known.contains(&name.as_str());
    let mut odd = members.keys().filter(is_odd).map(|name| folded(name));
    match odd.find(|name| known.contains(&name.as_str())) {
        Some(name) => Err(Error::invalid(format!(
            "the message has the member {name} in other letters"
        ))),
        None => Ok(()),
    }
}

fn is_call(message: &Members<'_>) -> Result<bool> {
    let Some(method) = message.get("method") else {
        return Ok(false);
    };
    match text(method) {
        Some(method) if method == CALL => Ok(true),
        Some(method) if folded(method.trim()) != CALL => Ok(false),
        _ => Err(Error::invalid(
            "the method of the message must be a text, and tools/call in these letters",
        )),
    }
}

/// A server, or what balances its load, may go by the headers that repeat the message.
fn agrees(headers: &HeaderMap, name: &HeaderName, holds: impl Fn(&str) -> bool) -> Result<()> {
    let mut values = headers.get_all(name).iter();
    let holds = |value: &[u8]| std::str::from_utf8(value.trim_ascii()).is_ok_and(&holds);
    match values.all(|value| holds(value.as_bytes())) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the header {name} and the message do not agree"
        ))),
    }
}

fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The message without its id and without what is volatile in `_meta`; all else as it is written.
fn compared(message: &Members<'_>, params: Members<'_>) -> Result<Bytes> {
    let meta = params.get("_meta").copied();
    let meta = meta.and_then(|meta| serde_json::from_str::<Members<'_>>(meta.get()).ok());
    let meta = meta.map(|mut meta| {
        meta.retain(|name, _| !is_volatile(name));
        meta
    });
    let kept = meta.as_ref().filter(|meta| !meta.is_empty());
    let kept = kept.map(to_raw_value).transpose().map_err(unreadable)?;
    let mut params = params;
    if meta.is_some() {
        params.remove("_meta");
    }
    if let Some(kept) = &kept {
        params.insert("_meta".to_owned(), kept);
    }
    let params = to_raw_value(&params).map_err(unreadable)?;
    let mut message: Members<'_> = message.clone();
    message.remove("id");
    message.insert("params".to_owned(), &params);
    let text = serde_json::to_vec(&message).map_err(unreadable)?;
    Ok(text.into())
}

fn is_volatile(name: &str) -> bool {
    VOLATILE.contains(&name) || name.starts_with(PROTOCOLS_OWN)
}
