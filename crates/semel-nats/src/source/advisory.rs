//! Advisories: with each the server says that it gave up the delivery of a message of another stream, which is still there. Such a message is
//! read in the advisory's place, so that a stream of advisories is a dead letter queue.

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::RawMessageErrorKind;
use bytes::Bytes;
use semel_core::{Error, Kind, Result};
use semel_inbox::source::Raw;
use serde_json::Value;

use super::attach::coordinates;
use super::message;
use crate::error;

/// The most advisories that are looked into before they are handed on.
pub(super) const LOOKED_UP_MAX: usize = 50;

/// The message that an advisory is about. If it is gone, the advisory itself, which cannot be read.
pub(super) async fn original(context: &Context, advisory: Raw) -> Result<Raw> {
    match find(context, &advisory).await {
        Ok(original) => Ok(original),
        // What passes by itself is asked again.
        Err(error) if error.kind() != Kind::Invalid => Err(error),
        Err(error) => Ok(Raw {
            unreadable: Some(error.to_string()),
            ..advisory
        }),
    }
}

async fn find(context: &Context, advisory: &Raw) -> Result<Raw> {
    let payload = advisory.payload.as_ref();
    let (name, sequence) = payload.and_then(read).ok_or_else(|| {
        Error::invalid("no advisory that names a stream and a sequence, as the address says")
    })?;
    let stream = context.get_stream(&name).await;
    let stream = stream.map_err(|error| error::stream(&name, &error.kind()))?;
    let created = stream.cached_info().created;
    let published = advisory.published_at;
    if published.is_some_and(|at| at < message::timestamp(created)) {
        return Err(Error::invalid(format!(
            "the stream {name:?} was made anew after the advisory"
        )));
    }
    let found = stream.get_raw_message(sequence).await;
    let found = found.map_err(|error| match error.kind() {
        RawMessageErrorKind::NoMessageFound => Error::invalid(format!(
            "the stream {name:?} has no message {sequence} any more"
        )),
        _ => error::away("the message of an advisory cannot be read", error),
    })?;
    Ok(Raw {
        deliveries: advisory.deliveries,
        ..message::stored(&found, &coordinates(&name, created))
    })
}

/// Which message of which stream an advisory is about.
fn read(payload: &Bytes) -> Option<(String, u64)> {
    let value: Value = serde_json::from_slice(payload).ok()?;
    let stream = value.get("stream")?.as_str()?;
    Some((stream.to_owned(), value.get("stream_seq")?.as_u64()?))
}
