//! An exchange or a queue as a target of intents, with publisher confirms.
//!
//! A channel serves one call at a time, because the client library hands a returned message to whichever confirmation comes next: only with all
//! confirmations of a round in hand is it known by its id which message was returned.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::join_all;
use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, ErrorKind, ExchangeKind, PublisherConfirm};
use semel_core::{Error, Result};
use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};
use tokio::time::timeout;

use crate::connection::{self, Connection};
use crate::url::Address;
use crate::{error, fields};

/// The most messages of one call that wait for their confirmation at the same time.
const WAITING_MAX: usize = 256;
/// The most channels that are kept for later calls.
const IDLE_MAX: usize = 8;
/// The most payload bytes of several messages that wait together; a larger message goes alone.
const ROUND_BYTES: usize = 8 * 1024 * 1024;
/// The broker's codes for a message that it refuses: no permission, too large or otherwise not as it must be. It closes the channel with them.
const REFUSED: [u16; 2] = [403, 406];
/// How many messages go one at a time after such a code, so that it is known whose it is.
const SINGLY: usize = WAITING_MAX;

/// An exchange or a queue of RabbitMQ that intents are published to.
///
/// The address is `amqp[s]://[USER:PASSWORD@]HOST[:PORT][/VHOST]?exchange=EXCHANGE&routing_key=KEY`, or `…?queue=QUEUE`; the options of the
/// connection are `ca` and `timeout`.
pub struct AmqpOutlet {
    name: String,
    exchange: String,
    routing_key: String,
    connection: Connection,
    idle: Mutex<Vec<Channel>>,
    /// How many messages are still to go one at a time. The first one does, because of a permission that is missing nothing is published.
    singly: AtomicUsize,
}

/// A message with its place in the call.
type Placed = (usize, Outgoing);

impl AmqpOutlet {
    /// An outlet that connects when it is first used.
    pub fn from_url(url: &str) -> Result<Self> {
        let mut address = Address::parse(url)?;
        let exchange = address.take_name("exchange")?;
        let queue = address.take_name("queue")?;
        let key = address.take_name("routing_key")?;
        address.finish("exchange, queue, routing_key")?;
        let (name, exchange, routing_key) = match (exchange, queue, key) {
            (None, Some(queue), None) if !queue.is_empty() => {
                (address.named(&queue), String::new(), queue)
            }
            (Some(exchange), None, key) if !exchange.is_empty() => {
                let key = key.unwrap_or_default();
                (address.named(&format!("{exchange}:{key}")), exchange, key)
            }
            _ => {
                let message = "an address to publish to has either the option queue, or exchange and routing_key";
                return Err(Error::invalid(message));
            }
        };
        Ok(Self {
            connection: Connection::new(address, &format!("semel outlet {name}")),
            name,
            exchange,
            routing_key,
            idle: Mutex::default(),
            singly: AtomicUsize::new(1),
        })
    }

    async fn send_all(&self, messages: Vec<Outgoing>) -> Vec<Sent> {
        let waits = "an earlier message of the same key was not published";
        let mut results = vec![Sent::NotSent(waits.to_owned()); messages.len()];
        let mut lines = lines(messages);
        let mut channel: Option<Channel> = None;
        while !lines.is_empty() {
            let open = match channel.take() {
                Some(open) if open.status().connected() => Ok(open),
                _ => self.channel().await,
            };
            let open = match open {
                Ok(open) => open,
                Err(error) => {
                    for (at, _) in lines.into_iter().flatten() {
                        results[at] = Sent::NotSent(error.to_string());
                    }
                    return results;
                }
            };
            let sent = self.round(&open, self.take_round(&mut lines)).await;
            // What comes late on a channel is not to meet other messages.
            let is_clean = !sent
                .iter()
                .any(|(_, sent)| matches!(sent, Sent::Unknown(_)));
            channel = Some(open).filter(|_| is_clean);
            // The first lines had a message in the round. Of a key that failed nothing more is published.
            let mut is_done = sent.iter().map(|(_, sent)| matches!(sent, Sent::Done(_)));
            lines.retain(|left| {
                is_done
                    .next()
                    .is_none_or(|is_done| is_done && !left.is_empty())
            });
            for (at, sent) in sent {
                results[at] = sent;
            }
        }
        if let Some(channel) = channel {
            self.keep(channel);
        }
        results
    }

    /// The first messages of the first lines, as many as may wait together.
    fn take_round(&self, lines: &mut [VecDeque<Placed>]) -> Vec<Placed> {
        let most = match self.singly.load(Ordering::Relaxed) {
            0 => WAITING_MAX,
            _ => 1,
        };
        let (mut round, mut bytes) = (Vec::new(), 0_usize);
        for line in lines.iter_mut().take(most) {
            let payload = line.front().and_then(|(_, first)| first.payload.as_ref());
            bytes = bytes.saturating_add(payload.map_or(0, Bytes::len));
            if bytes > ROUND_BYTES && !round.is_empty() {
                break;
            }
            round.extend(line.pop_front());
        }
        round
    }

    /// Publishes messages of different keys together; the same number of results in the same order.
    async fn round(&self, channel: &Channel, messages: Vec<Placed>) -> Vec<(usize, Sent)> {
        let mut published = Vec::with_capacity(messages.len());
        let is_alone = messages.len() == 1;
        let mut is_broken = false;
        for (at, message) in messages {
            let id = message.id.clone();
            let given = match is_broken {
                true => Err(Sent::NotSent(
                    "the connection was lost before it".to_owned(),
                )),
                // What is given to a blocked connection goes out later, whatever is answered meanwhile.
                false if self.connection.is_blocked().await => {
                    Err(Sent::NotSent("the broker takes nothing in".to_owned()))
                }
                false => self.publish(channel, message, is_alone).await,
            };
            is_broken |= matches!(given, Err(Sent::Unknown(_) | Sent::NotSent(_)));
            published.push((at, id, given));
        }
        let limit = self.connection.address().timeout;
        let waiting = published.into_iter().map(|(at, id, confirm)| async move {
            let confirmed = match confirm {
                Ok(confirm) => Ok(timeout(limit, confirm).await),
                Err(sent) => Err(sent),
            };
            (at, id, confirmed)
        });
        let mut confirmed = join_all(waiting).await;
        let mut returned: HashMap<String, String> = HashMap::new();
        for (_, _, confirmed) in &mut confirmed {
            if let Ok(Ok(Ok(Confirmation::Ack(found) | Confirmation::Nack(found)))) = confirmed
                && let Some(found) = found.take()
            {
                let why = found.reply_text.to_string();
                returned.insert(id_of(&found.delivery.properties), why);
            }
        }
        let results = confirmed.into_iter().map(|(at, id, confirmed)| {
            let sent = match (confirmed, returned.get(&id)) {
                (Err(sent), _) => sent,
                (_, Some(why)) => Sent::Refused(format!("the broker returned it: {why}")),
                (Ok(Err(_)), None) => Sent::Unknown("no confirmation in time".to_owned()),
                (Ok(Ok(confirmed)), None) => self.confirmed(confirmed, is_alone),
            };
            (at, sent)
        });
        results.collect()
    }

    /// Gives a message to the connection.
    async fn publish(
        &self,
        channel: &Channel,
        message: Outgoing,
        is_alone: bool,
    ) -> Result<PublisherConfirm, Sent> {
        let properties = fields::properties(&message).map_err(Sent::Refused)?;
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let payload = message.payload.unwrap_or_default();
        let (exchange, key) = (
            self.exchange.as_str().into(),
            self.routing_key.as_str().into(),
        );
        let published = channel.basic_publish(exchange, key, options, &payload, properties);
        // A broker that is short of memory or disk takes nothing in and does not say how long.
        let published = timeout(self.connection.address().timeout, published).await;
        let published =
            published.map_err(|_| Sent::Unknown("the broker takes nothing in".to_owned()))?;
        published.map_err(|error| match error.kind() {
            // It was refused here, before a byte of it was sent.
            ErrorKind::InvalidChannelState(..)
            | ErrorKind::InvalidConnectionState(_)
            | ErrorKind::InvalidChannel(_)
            | ErrorKind::SerialisationError(_) => Sent::NotSent(error.to_string()),
            _ => self.failed(&error, is_alone),
        })
    }

    /// What a confirmation says about a message that was not returned.
    fn confirmed(&self, confirmed: lapin::Result<Confirmation>, is_alone: bool) -> Sent {
        match confirmed {
            Ok(Confirmation::Ack(_)) => {
                if is_alone {
                    let fewer = |left: usize| left.checked_sub(1);
                    // None are left to go one at a time, then.
                    let _ = self
                        .singly
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
                }
                Sent::Done(self.name.clone())
            }
            // The one queue that it was for is full or cannot store it.
            Ok(Confirmation::Nack(_)) if self.exchange.is_empty() => {
                Sent::NotSent("the queue did not take it".to_owned())
            }
            // Some of the queues behind the exchange may have taken it.
            Ok(Confirmation::Nack(_)) => {
                Sent::Unknown("a queue behind the exchange did not take it".to_owned())
            }
            Ok(Confirmation::NotRequested) => {
                Sent::Unknown("the channel does not confirm".to_owned())
            }
            Err(error) => self.failed(&error, is_alone),
        }
    }

    /// What an error says about a message that was given to the connection.
    fn failed(&self, error: &lapin::Error, is_alone: bool) -> Sent {
        if !error::code(error).is_some_and(|code| REFUSED.contains(&code)) {
            return Sent::Unknown(error.to_string());
        }
        self.singly.store(SINGLY, Ordering::Relaxed);
        match is_alone {
            true => Sent::Refused(error.to_string()),
            // It is meant for one of the round, and others of it may have been stored.
            false => Sent::Unknown(error.to_string()),
        }
    }

    /// A channel that confirms, and whose exchange or queue is there.
    async fn channel(&self) -> Result<Channel> {
        if self.connection.is_blocked().await {
            return Err(connection::blocked());
        }
        while let Some(channel) = { self.idle().pop() } {
            if channel.status().connected() {
                return Ok(channel);
            }
        }
        let channel = self.connection.channel().await?;
        let what = format!("{} cannot be published to", self.name);
        let made = timeout(self.connection.address().timeout, self.prepare(&channel)).await;
        let made = made.map_err(|_| error::away(&what, "no answer in time"))?;
        made.map_err(|error| error::of(&what, &error))?;
        Ok(channel)
    }

    async fn prepare(&self, channel: &Channel) -> lapin::Result<()> {
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        match self.exchange.as_str() {
            "" => {
                let passive = QueueDeclareOptions {
                    passive: true,
                    ..QueueDeclareOptions::default()
                };
                let queue = self.routing_key.as_str().into();
                channel
                    .queue_declare(queue, passive, FieldTable::default())
                    .await?;
            }
            exchange => {
                let passive = ExchangeDeclareOptions {
                    passive: true,
                    ..ExchangeDeclareOptions::default()
                };
                // A passive declaration does not look at the kind.
                let kind = ExchangeKind::Direct;
                channel
                    .exchange_declare(exchange.into(), kind, passive, FieldTable::default())
                    .await?;
            }
        }
        Ok(())
    }

    /// Keeps a channel for the next call, unless it is broken or enough are kept.
    fn keep(&self, channel: Channel) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX && channel.status().connected() {
            idle.push(channel);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Channel>> {
        // The list is whole after every statement, so a poisoned lock protects nothing.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for AmqpOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AmqpOutlet")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Outlet for AmqpOutlet {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        Box::pin(self.send_all(messages))
    }
}

/// The messages with their places in the call: those of one key together, every other one by itself.
fn lines(messages: Vec<Outgoing>) -> Vec<VecDeque<Placed>> {
    let mut lines: Vec<VecDeque<Placed>> = Vec::new();
    let mut known: HashMap<Bytes, usize> = HashMap::new();
    for (at, message) in messages.into_iter().enumerate() {
        let line = message
            .key
            .clone()
            .map(|key| *known.entry(key).or_insert(lines.len()));
        match line.and_then(|line| lines.get_mut(line)) {
            Some(line) => line.push_back((at, message)),
            None => lines.push(VecDeque::from([(at, message)])),
        }
    }
    lines
}

/// The id of a message that came back.
fn id_of(properties: &BasicProperties) -> String {
    let mut found = fields::headers(properties).into_iter();
    let id = found.find(|(name, _)| name == fields::MESSAGE_ID);
    let id = id.and_then(|(_, value)| value).unwrap_or_default();
    String::from_utf8_lossy(&id).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_publish_to_has_a_queue_or_an_exchange() {
        for url in [
            "amqp://h",
            "amqp://h?queue=",
            "amqp://h?queue=q&exchange=e",
            "amqp://h?queue=q&routing_key=k",
            "amqp://h?routing_key=k",
            "amqp://h?queue=q&prefetch=1",
        ] {
            assert!(AmqpOutlet::from_url(url).is_err(), "{url}");
        }
        for (url, name) in [
            ("amqp://h?queue=q", "amqp:q"),
            ("amqp://h/v?exchange=e&routing_key=k", "amqp:v/e:k"),
            ("amqp://h?exchange=fan", "amqp:fan:"),
        ] {
            assert_eq!(AmqpOutlet::from_url(url).unwrap().name(), name);
        }
    }
}
