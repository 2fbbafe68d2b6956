//! The outlet: intents are sent to a queue.

use std::collections::{HashMap, HashSet};

use aws_sdk_sqs::types::SendMessageBatchRequestEntry as Entry;
use bytes::Bytes;
use semel_core::{Fingerprint, Result};
use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};

use crate::error::{End, Failed, failed};
use crate::headers;
use crate::queue::Queue;
use crate::url;

/// The most messages in one call.
const CALL_MAX: usize = 10;
/// The most bytes in one call: what every region and every queue takes. A larger message goes alone, and the service decides.
const CALL_BYTES_MAX: usize = 256 * 1024;
/// The longest ids of groups and of deduplication.
const ID_MAX: usize = 128;

/// A queue that intents are sent to.
///
/// A FIFO queue deduplicates by the message's id for five minutes. A standard one does not: an intent whose outcome is unknown may be there
/// twice, each time with the same `message-id`.
pub struct SqsOutlet {
    name: String,
    queue: Queue,
}

impl std::fmt::Debug for SqsOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqsOutlet").field(&self.name).finish()
    }
}

impl SqsOutlet {
    /// The queue that a URL names; it is connected to on first use.
    ///
    /// `sqs://[REGION]/QUEUE`, then `?name=value&…`: `endpoint`, `owner`, `credentials=none`, `timeout=10s`.
    pub fn from_url(url: &str) -> Result<Self> {
        let address = url::outlet(url)?;
        Ok(Self {
            name: format!("sqs:{}", address.queue),
            queue: Queue::new(address),
        })
    }

    /// The message as an entry of a call, and its size.
    fn entry(&self, at: usize, message: &Outgoing) -> (Entry, usize) {
        let written = headers::write(message);
        let bytes = written.bytes();
        let mut entry = Entry::builder()
            .id(at.to_string())
            .message_body(written.body)
            .set_message_attributes(Some(written.attributes));
        if self.queue.address.is_fifo() {
            entry = entry
                .message_group_id(group(message))
                .message_deduplication_id(fitting(message.id.as_bytes()));
        }
        (entry.build().expect("id and body are set"), bytes)
    }

    /// Sends the messages of these places in one call, and if the service refuses it as a whole, one by one.
    async fn call(&self, entries: Vec<(usize, Entry)>) -> Vec<(usize, Sent)> {
        let places: Vec<usize> = entries.iter().map(|(at, _)| *at).collect();
        match self
            .call_once(entries.iter().map(|(_, entry)| entry.clone()).collect())
            .await
        {
            Ok(answers) => {
                let unnamed = || Sent::Unknown("the service said nothing about it".to_owned());
                let answer = |at: usize| {
                    answers
                        .get(&at.to_string())
                        .cloned()
                        .unwrap_or_else(unnamed)
                };
                places.into_iter().map(|at| (at, answer(at))).collect()
            }
            Err(failed) if failed.end == End::Refused && places.len() > 1 => {
                let mut sent = Vec::new();
                for entry in entries {
                    sent.extend(Box::pin(self.call(vec![entry])).await);
                }
                sent
            }
            Err(Failed { end, error }) => {
                let why = error.to_string();
                let sent = match end {
                    End::NotDone => Sent::NotSent(why),
                    End::Refused => Sent::Refused(why),
                    End::Unknown => Sent::Unknown(why),
                };
                places.into_iter().map(|at| (at, sent.clone())).collect()
            }
        }
    }

    async fn call_once(&self, entries: Vec<Entry>) -> Result<HashMap<String, Sent>, Failed> {
        let connected = self.queue.try_connected().await.map_err(|failed| Failed {
            // Nothing of the messages was sent yet, however the way there failed.
            end: End::NotDone,
            ..failed
        })?;
        let answer = connected
            .client
            .send_message_batch()
            .queue_url(&connected.url)
            .set_entries(Some(entries))
            .send()
            .await
            .map_err(|error| failed("sending", error))?;
        let queue = &self.queue.address.queue;
        let done = answer.successful().iter().map(|entry| {
            let place = format!("{queue}/{}", entry.message_id());
            (entry.id().to_owned(), Sent::Done(place))
        });
        let refused = answer.failed().iter().map(|entry| {
            let why = format!("{}: {}", entry.code(), entry.message().unwrap_or_default());
            let sent = match entry.sender_fault() {
                true => Sent::Refused(why),
                false => Sent::NotSent(why),
            };
            (entry.id().to_owned(), sent)
        });
        Ok(done.chain(refused).collect())
    }

    /// Takes the next messages that may go in one call: in a FIFO queue one of each group, so that nothing overtakes one that fails.
    fn next_call(&self, left: &mut Vec<usize>, messages: &[Outgoing]) -> Vec<(usize, Entry)> {
        let mut entries: Vec<(usize, Entry)> = Vec::new();
        let mut groups = HashSet::new();
        let mut bytes = 0;
        let mut is_full = false;
        left.retain(|at| {
            let is_first = !self.queue.address.is_fifo() || groups.insert(group(&messages[*at]));
            if is_full || !is_first {
                return true;
            }
            let (entry, more) = self.entry(*at, &messages[*at]);
            if !entries.is_empty() && bytes + more > CALL_BYTES_MAX {
                is_full = true;
                return true;
            }
            bytes += more;
            entries.push((*at, entry));
            is_full = entries.len() == CALL_MAX;
            false
        });
        entries
    }
}

impl Outlet for SqsOutlet {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        Box::pin(async move {
            let mut sent: Vec<Option<Sent>> = vec![None; messages.len()];
            let mut left: Vec<usize> = (0..messages.len()).collect();
            let mut failed: HashSet<Bytes> = HashSet::new();
            while !left.is_empty() {
                let entries = self.next_call(&mut left, &messages);
                for (at, how) in self.call(entries).await {
                    if !matches!(how, Sent::Done(_)) {
                        failed.extend(messages[at].key.clone());
                    }
                    sent[at] = Some(how);
                }
                left.retain(|at| {
                    let is_behind = messages[*at]
                        .key
                        .as_ref()
                        .is_some_and(|key| failed.contains(key));
                    if is_behind {
                        let why = "an earlier message of the same key was not sent";
                        sent[*at] = Some(Sent::NotSent(why.to_owned()));
                    }
                    !is_behind
                });
            }
            let sent = sent.into_iter();
            sent.map(|sent| sent.expect("each message was sent or left behind"))
                .collect()
        })
    }
}

/// The group that orders a message; one without a key has its own.
fn group(message: &Outgoing) -> String {
    match &message.key {
        Some(key) if !key.is_empty() => fitting(key),
        _ => fitting(message.id.as_bytes()),
    }
}

/// Text that the service takes as an id: as it is, or hashed.
fn fitting(id: &[u8]) -> String {
    let text = std::str::from_utf8(id).ok();
    let fits = |text: &&str| {
        (1..=ID_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match text.filter(fits) {
        Some(text) => text.to_owned(),
        None => format!("hash:{}", Fingerprint::of_bytes(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_the_service_does_not_take_are_hashed() {
        assert_eq!(fitting(b"o-1"), "o-1");
        for odd in [&b"a b"[..], b"\xff", b"", &[b'a'; 129]] {
            let hashed = fitting(odd);
            assert!(
                hashed.starts_with("hash:") && hashed.len() <= ID_MAX,
                "{hashed}"
            );
        }
    }
}
