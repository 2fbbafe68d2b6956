//! The outlet: intents are appended to a stream.

use std::sync::Arc;
use std::time::Duration;

use redis::{RedisError, Value};
use semel_core::Result;
use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};

use crate::entry::{self, KEY, PAYLOADS};
use crate::link::{Link, Script, arg};
use crate::url::{self, Publishing};

/// The most messages and bytes that one script appends, so that it does not keep the server for long.
const CHUNK_MAX: usize = 200;
const CHUNK_BYTES_MAX: usize = 1024 * 1024;
/// The most headers of a message: a command of the server's scripts has a few thousand arguments at most.
const HEADERS_MAX: usize = 1_000;
/// Why a message was not published after one that failed.
const BEHIND: &str = "an earlier message of the same call was not published";
/// The field with the id.
const ID: &str = "message-id";
/// The field with the kind.
const KIND: &str = "kind";

static PUBLISH: Script = Script::new(include_str!("../scripts/publish.lua"));

/// A stream that intents are published to.
///
/// Redis does not deduplicate: an intent whose outcome is unknown may be there twice, each time with the same `message-id`.
pub struct RedisStreamsOutlet {
    name: String,
    stream: String,
    publishing: Publishing,
    link: Link,
}

impl std::fmt::Debug for RedisStreamsOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RedisStreamsOutlet")
            .field(&self.name)
            .finish()
    }
}

impl RedisStreamsOutlet {
    /// The stream that a URL names; it is connected to on first use.
    ///
    /// `redis[s]-streams://[[USER]:PASSWORD@]HOST[:PORT][/DB]/STREAM`, then `?name=value&…`: `maxlen=N`, `payload=FIELD`, `key=FIELD`, `tls=true`,
    /// `cacert=FILE`, `timeout=5s`.
    pub fn from_url(url: &str) -> Result<Self> {
        let (address, publishing) = url::outlet(url)?;
        Ok(Self {
            name: format!("redis-streams:{}", address.stream),
            stream: address.stream.clone(),
            publishing,
            link: Link::new(Arc::new(address), Duration::ZERO),
        })
    }

    /// The arguments of one message: how many fields and values, and these.
    fn arguments(&self, message: &Outgoing) -> Vec<Vec<u8>> {
        let fields = &self.publishing.fields;
        let mut args = vec![Vec::new()];
        let mut field = |name: &str, value: &[u8]| {
            args.extend([name.as_bytes().to_vec(), value.to_vec()]);
        };
        field(ID, message.id.as_bytes());
        if let Some(key) = &message.key {
            field(fields.key.as_deref().unwrap_or(KEY), key);
        }
        if let Some(kind) = &message.kind {
            field(KIND, kind.as_bytes());
        }
        for (name, value) in &message.headers {
            field(name, value.as_deref().unwrap_or_default());
        }
        if let Some(payload) = &message.payload {
            field(fields.payload.as_deref().unwrap_or(PAYLOADS[0]), payload);
        }
        args[0] = arg(args.len() - 1);
        args
    }

    /// Publishes the messages of one chunk; the results of all.
    async fn publish(&self, chunk: Vec<Vec<Vec<u8>>>) -> Vec<Sent> {
        let count = chunk.len();
        let maxlen = self.publishing.maxlen;
        let maxlen = maxlen.map(arg).unwrap_or_default();
        let args: Vec<_> = std::iter::once(maxlen)
            .chain(chunk.into_iter().flatten())
            .collect();
        let answer = match self.link.run_once("publishing", &PUBLISH, &args).await {
            // Nothing was sent.
            Err(error) => return vec![Sent::NotSent(error.to_string()); count],
            Ok(answer) => answer,
        };
        match answer {
            Ok(answer) => self.published(answer, count),
            // A script that was refused as a whole did nothing.
            Err(error) => vec![refused(&error); count],
        }
    }

    fn published(&self, answer: Value, count: usize) -> Vec<Sent> {
        let mut parts = entry::list(answer).unwrap_or_default().into_iter();
        let ids = parts.next().and_then(entry::list).unwrap_or_default();
        let said = parts.next().and_then(entry::text);
        let done = ids.into_iter().filter_map(entry::text);
        let mut sent: Vec<Sent> = done
            .map(|id| Sent::Done(format!("{}/{id}", self.stream)))
            .collect();
        let failed = match said {
            Some(said) if !said.is_empty() => said_no(&said),
            _ => Sent::Unknown("the answer of the script cannot be read".to_owned()),
        };
        if sent.len() < count {
            sent.push(failed);
        }
        sent.resize(count, Sent::NotSent(BEHIND.to_owned()));
        sent
    }
}

impl Outlet for RedisStreamsOutlet {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        Box::pin(async move {
            let mut sent: Vec<Sent> = Vec::with_capacity(messages.len());
            let mut messages = messages.iter().peekable();
            while messages.peek().is_some() {
                let mut chunk = Vec::new();
                let mut bytes = 0;
                let mut refused = None;
                while let Some(message) = messages.peek() {
                    if message.headers.len() > HEADERS_MAX {
                        refused = Some(format!("more than {HEADERS_MAX} headers"));
                        break;
                    }
                    let args = self.arguments(message);
                    let more: usize = args.iter().map(Vec::len).sum();
                    let is_full = chunk.len() >= CHUNK_MAX || bytes + more > CHUNK_BYTES_MAX;
                    if is_full && !chunk.is_empty() {
                        break;
                    }
                    bytes += more;
                    chunk.push(args);
                    messages.next();
                }
                if !chunk.is_empty() {
                    sent.extend(self.publish(chunk).await);
                }
                let has_failed = |last: &Sent| !matches!(last, Sent::Done(_));
                if let Some(why) = refused
                    && !sent.last().is_some_and(has_failed)
                {
                    sent.push(Sent::Refused(why));
                    messages.next();
                }
                if sent.last().is_some_and(has_failed) {
                    // Nothing goes out after one that failed: it may have the same key.
                    sent.extend(messages.by_ref().map(|_| Sent::NotSent(BEHIND.to_owned())));
                }
            }
            sent
        })
    }
}

/// What an error means for messages that were sent.
fn refused(error: &RedisError) -> Sent {
    match error.kind() {
        redis::ErrorKind::Server(_) | redis::ErrorKind::Extension => {
            let said = error.to_string();
            match is_messages(&said) {
                true => Sent::Refused(said),
                false => Sent::NotSent(said),
            }
        }
        _ => Sent::Unknown(error.to_string()),
    }
}

/// What the server said to one command of the script.
fn said_no(said: &str) -> Sent {
    let said = said.trim_start_matches('-');
    let (code, detail) = said.split_once(' ').unwrap_or((said, ""));
    refused(&redis::make_extension_error(
        code.to_owned(),
        Some(detail.to_owned()),
    ))
}

/// Whether the server found fault with the message itself. Everything else passes, or an operator must act before any message can go out.
fn is_messages(said: &str) -> bool {
    let known = [
        "exceeds maximum allowed size",
        "invalid bulk length",
        "invalid multibulk length",
        "too many results to unpack",
        "wrong number of arguments",
    ];
    known.iter().any(|known| said.contains(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_tells_whether_it_says_so_again() {
        for said in [
            "OOM command not allowed",
            "-NOPERM this user",
            "WRONGTYPE Operation against",
            "ERR something new",
        ] {
            assert!(matches!(said_no(said), Sent::NotSent(_)), "{said}");
        }
        let large = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
        assert!(matches!(said_no(large), Sent::Refused(_)));
        let cut = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(matches!(refused(&cut), Sent::Unknown(_)));
    }
}
