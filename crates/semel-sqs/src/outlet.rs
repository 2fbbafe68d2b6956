//! The outlet: intents are sent to a queue.

use std::collections::{HashMap, HashSet};

use aws_sdk_sqs::types::SendMessageBatchRequestEntry as Entry;
use bytes::Bytes;
use semel_core::{Fingerprint, Result};
use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};

use crate::error::{End, Failed, failed, of_entry};
use crate::headers;
use crate::queue::Queue;
use crate::url;

/// The most messages in one call.
const CALL_MAX: usize = 10;
/// The most bytes in one call: what every region and every queue takes. A larger message goes alone, and the service decides.
const CALL_BYTES_MAX: usize = 256 * 1024;
/// The longest ids of groups and of deduplication.
const ID_MAX: usize = 128;

/// What became of the messages of a call.
struct Called {
    sent: Vec<(usize, Sent)>,
    /// Whether the service did not answer, or did nothing at all: the next call would end like this one.
    is_away: bool,
}

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
    async fn call(&self, entries: Vec<(usize, Entry)>) -> Called {
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
                Called {
                    sent: places.into_iter().map(|at| (at, answer(at))).collect(),
                    is_away: false,
                }
            }
            Err(failed) if failed.end == End::Refused && places.len() > 1 => {
                self.call_each(entries).await
            }
            Err(Failed { end, error }) => {
                let sent = ended(end, error.to_string());
                Called {
                    sent: places.into_iter().map(|at| (at, sent.clone())).collect(),
                    is_away: end != End::Refused,
                }
            }
        }
    }

    /// Sends each message in a call of its own, as long as the service answers.
    async fn call_each(&self, entries: Vec<(usize, Entry)>) -> Called {
        let mut all = Called {
            sent: Vec::new(),
            is_away: false,
        };
        for (at, entry) in entries {
            if all.is_away {
                all.sent.push((at, behind(AWAY)));
                continue;
            }
            let one = Box::pin(self.call(vec![(at, entry)])).await;
            all.sent.extend(one.sent);
            all.is_away = one.is_away;
        }
        all
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
        let failed = answer.failed().iter().map(|entry| {
            let why = format!("{}: {}", entry.code(), entry.message().unwrap_or_default());
            (entry.id().to_owned(), ended(of_entry(entry.code()), why))
        });
        Ok(done.chain(failed).collect())
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
                let called = self.call(entries).await;
                for (at, how) in called.sent {
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
                    let why = match (called.is_away, is_behind) {
                        (true, _) => AWAY,
                        (false, true) => "an earlier message of the same key was not sent",
                        (false, false) => return true,
                    };
                    sent[*at] = Some(behind(why));
                    false
                });
            }
            let sent = sent.into_iter();
            sent.map(|sent| sent.expect("each message was sent or left behind"))
                .collect()
        })
    }
}

/// Why a message was not sent after a call that failed as a whole. Waiting for the next call to fail, too, might last longer than the caller
/// waits, and then nothing would be known of any message.
const AWAY: &str = "an earlier call was not answered, or did nothing";

fn behind(why: &str) -> Sent {
    Sent::NotSent(why.to_owned())
}

fn ended(end: End, why: String) -> Sent {
    match end {
        End::NotDone => Sent::NotSent(why),
        End::Refused => Sent::Refused(why),
        End::Unknown => Sent::Unknown(why),
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
