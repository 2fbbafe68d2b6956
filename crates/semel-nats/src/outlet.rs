//! A subject as a target of intents. A stream must take it in: messages that no stream stores are not sent.

use std::collections::HashMap;
use std::error::Error as _;

use async_nats::connection::State;
use async_nats::header::{HeaderMap, HeaderName, HeaderValue, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context, ErrorCode};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use semel_core::{Error, Result};
use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};
use semel_inbox::source::HeaderField;

use crate::connection::Connection;
use crate::url::Address;

/// The most messages of one call that wait for their acknowledgement at the same time.
const WAITING_MAX: usize = 256;
/// The header under which readers find the id.
const MESSAGE_ID: &str = "message-id";
/// The header with the kind, unless the message has one of this name.
const KIND: &str = "kind";
/// What headers that the server itself understands begin with.
const RESERVED: &str = "nats-";

/// A subject that intents are published to, through JetStream.
///
/// The address is `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT][,HOST…]/SUBJECT`, with the options of the connection: `tls`, `ca`, `cert` and
/// `key`, `credentials`, `timeout`.
pub struct NatsOutlet {
    name: String,
    subject: String,
    connection: Connection,
}

impl NatsOutlet {
    /// An outlet that connects when it is first used.
    pub fn from_url(url: &str) -> Result<Self> {
        let address = Address::parse(url)?;
        address.finish("none for the subject")?;
        let subject = address.path.clone();
        let is_token = |token: &str| {
            !token.is_empty() && !token.contains(|c: char| c.is_whitespace() || "*>".contains(c))
        };
        if !subject.split('.').all(is_token) {
            return Err(Error::invalid(format!(
                "a subject to publish to is words with dots between them, found {subject:?}"
            )));
        }
        let name = format!("nats:{subject}");
        Ok(Self {
            connection: Connection::new(address, &format!("semel outlet {name}")),
            name,
            subject,
        })
    }

    async fn send_all(&self, messages: Vec<Outgoing>) -> Vec<Sent> {
        let context = match self.connection.jetstream().await {
            Ok(context) => context,
            Err(error) => return vec![Sent::NotSent(error.to_string()); messages.len()],
        };
        let count = messages.len();
        let lines = lines(messages).into_iter();
        let sent: Vec<_> = stream::iter(lines.map(|line| self.send_line(&context, line)))
            .buffer_unordered(WAITING_MAX)
            .collect()
            .await;
        let mut results = vec![Sent::Unknown("no result".to_owned()); count];
        for (at, sent) in sent.into_iter().flatten() {
            results[at] = sent;
        }
        results
    }

    /// Publishes messages of one key, one after another, and none after one that failed.
    async fn send_line(
        &self,
        context: &Context,
        line: Vec<(usize, Outgoing)>,
    ) -> Vec<(usize, Sent)> {
        let mut results = Vec::with_capacity(line.len());
        let mut failed = false;
        for (at, message) in line {
            let sent = match failed {
                true => {
                    Sent::NotSent("an earlier message of the same key was not published".to_owned())
                }
                false => self.send_one(context, message).await,
            };
            failed |= !matches!(sent, Sent::Done(_));
            results.push((at, sent));
        }
        results
    }

    async fn send_one(&self, context: &Context, message: Outgoing) -> Sent {
        let publish = match publish(message) {
            Ok(publish) => publish,
            Err(why) => return Sent::Refused(why),
        };
        // What is given to a client that is reconnecting goes out later, whatever is answered meanwhile.
        if context.client().connection_state() != State::Connected {
            return Sent::NotSent("NATS is not connected at this moment".to_owned());
        }
        let acked = match context.send_publish(self.subject.clone(), publish).await {
            Ok(acked) => acked,
            Err(error) if error.kind() == PublishErrorKind::MaxPayloadExceeded => {
                return Sent::Refused(error.to_string());
            }
            Err(error) => return Sent::NotSent(error.to_string()),
        };
        match acked.await {
            // A duplicate is answered with the place of the first one.
            Ok(ack) => Sent::Done(format!("{}/{}", ack.stream, ack.sequence)),
            Err(error) => failed(&self.subject, &error),
        }
    }
}

impl std::fmt::Debug for NatsOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsOutlet")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Outlet for NatsOutlet {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        Box::pin(self.send_all(messages))
    }
}

/// The messages with their places in the call: those of one key together, every other one by itself.
fn lines(messages: Vec<Outgoing>) -> Vec<Vec<(usize, Outgoing)>> {
    let mut lines: Vec<Vec<(usize, Outgoing)>> = Vec::new();
    let mut known: HashMap<Bytes, usize> = HashMap::new();
    for (at, message) in messages.into_iter().enumerate() {
        let line = message
            .key
            .clone()
            .map(|key| *known.entry(key).or_insert(lines.len()));
        match line.and_then(|line| lines.get_mut(line)) {
            Some(line) => line.push((at, message)),
            None => lines.push(vec![(at, message)]),
        }
    }
    lines
}

/// A message as the server wants it, or why it cannot be one.
fn publish(message: Outgoing) -> Result<PublishMessage, String> {
    let id: HeaderValue = message
        .id
        .parse()
        .map_err(|_| "the id is no text that NATS can carry".to_owned())?;
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id.clone());
    headers.insert(MESSAGE_ID, id);
    let has_kind = |(name, _): &HeaderField| name.eq_ignore_ascii_case(KIND);
    if let Some(kind) = message
        .kind
        .filter(|_| !message.headers.iter().any(has_kind))
    {
        let kind: HeaderValue = kind
            .parse()
            .map_err(|_| "the kind is no text that NATS can carry".to_owned())?;
        headers.insert(KIND, kind);
    }
    for (name, value) in message.headers {
        // Those of the server would give orders to the stream, and the id is said already.
        let lower = name.to_ascii_lowercase();
        if lower.starts_with(RESERVED) || lower == MESSAGE_ID {
            continue;
        }
        let is_wrong = || format!("the header {name:?} is no text that NATS can carry");
        let value = value.unwrap_or_default();
        let value = std::str::from_utf8(&value).map_err(|_| is_wrong())?;
        let value: HeaderValue = value.parse().map_err(|_| is_wrong())?;
        let parsed: HeaderName = name.parse().map_err(|_| is_wrong())?;
        headers.append(parsed, value);
    }
    Ok(PublishMessage::build()
        .payload(message.payload.unwrap_or_default())
        .headers(headers))
}

/// What became of a message that was not acknowledged.
fn failed(subject: &str, error: &PublishError) -> Sent {
    match error.kind() {
        // Nothing listens on the subject, so nothing has it; a stream that is starting or is made later will.
        PublishErrorKind::StreamNotFound => {
            Sent::NotSent(format!("no stream takes in the subject {subject:?}"))
        }
        PublishErrorKind::TimedOut => Sent::Unknown("no acknowledgement in time".to_owned()),
        _ => match error
            .source()
            .and_then(|cause| cause.downcast_ref::<jetstream::Error>())
        {
            Some(said) => answered(said),
            None => Sent::Unknown(error.to_string()),
        },
    }
}

/// What an error means that the stream answered with.
fn answered(said: &jetstream::Error) -> Sent {
    match (said.error_code(), said.code()) {
        // An earlier copy is on its way into the stream, and may still fail.
        (ErrorCode::STREAM_DUPLICATE_MESSAGE_CONFLICT, _) => Sent::Unknown(said.to_string()),
        // An account, a stream or a queue that is full, and a stream without a leader, have stored nothing, and this passes.
        (ErrorCode::ACCOUNT_RESOURCES_EXCEEDED, _) | (_, 429 | 500..) => {
            Sent::NotSent(said.to_string())
        }
        _ => Sent::Refused(said.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(key: Option<&'static str>) -> Outgoing {
        Outgoing {
            id: "i".to_owned(),
            key: key.map(|key| Bytes::from_static(key.as_bytes())),
            kind: None,
            headers: Vec::new(),
            payload: None,
        }
    }

    #[test]
    fn messages_of_one_key_follow_each_other() {
        let keys = [Some("a"), None, Some("b"), Some("a"), None];
        let places: Vec<Vec<usize>> = lines(keys.into_iter().map(message).collect())
            .into_iter()
            .map(|line| line.into_iter().map(|(at, _)| at).collect())
            .collect();
        assert_eq!(places, [vec![0, 3], vec![1], vec![2], vec![4]]);
    }

    #[test]
    fn a_header_that_cannot_be_carried_is_refused_and_the_servers_own_are_left_out() {
        let mut wrong = message(None);
        wrong.headers = vec![("a".into(), Some(Bytes::from_static(&[0xff])))];
        assert!(publish(wrong).is_err());
        let mut reserved = message(None);
        reserved.headers = vec![(
            "Nats-Expected-Stream".into(),
            Some(Bytes::from_static(b"X")),
        )];
        assert!(publish(reserved).is_ok());
    }

    #[test]
    fn what_a_stream_answers_is_final_only_if_it_is_about_the_message() {
        let said = |code: usize, error_code: u64| {
            let said = json!({"code": code, "err_code": error_code, "description": "x"});
            answered(&serde_json::from_value(said).unwrap())
        };
        assert!(matches!(said(409, 10158), Sent::Unknown(_)));
        for (code, error_code) in [(429, 10167), (503, 10077), (500, 10047), (400, 10002)] {
            assert!(
                matches!(said(code, error_code), Sent::NotSent(_)),
                "{error_code}"
            );
        }
        for (code, error_code) in [(400, 10054), (400, 10060), (400, 10109)] {
            assert!(
                matches!(said(code, error_code), Sent::Refused(_)),
                "{error_code}"
            );
        }
    }

    #[test]
    fn the_kind_is_a_header_unless_the_message_has_it() {
        let mut typed = message(None);
        typed.kind = Some("created".to_owned());
        let kinds = |message: Outgoing| {
            let sent = format!("{:?}", publish(message).unwrap());
            (sent.contains("created"), sent.contains("own"))
        };
        assert_eq!(kinds(typed.clone()), (true, false));
        typed.headers = vec![("Kind".into(), Some(Bytes::from_static(b"own")))];
        assert_eq!(kinds(typed), (false, true));
    }

    #[test]
    fn a_subject_with_wildcards_is_no_target() {
        for url in [
            "nats://h/",
            "nats://h/a..b",
            "nats://h/a.%3E",
            "nats://h/a.*",
        ] {
            assert!(NatsOutlet::from_url(url).is_err(), "{url}");
        }
        assert!(NatsOutlet::from_url("nats://h/a.b?durable=x").is_err());
    }
}
