//! Answers deliveries: many at once, each confirmed by the server.

use std::sync::{Arc, Mutex, PoisonError};

use async_nats::jetstream::AckKind;
use async_nats::{Client, RequestErrorKind, Subject};
use futures_util::future::join_all;
use semel_core::Result;
use semel_inbox::source::{Handle, Settle, Settled};
use tokio::time::Instant;

use super::Place;
use super::attach::Incarnation;

/// A delivery that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) reply: Subject,
    pub(super) of: Arc<Incarnation>,
    /// When its lease ends as this side sees it. For the server it ends earlier by as long as the message waited unread in the connection; what is
    /// delivered again for that reason is a duplicate, which the record recognises.
    until: Mutex<Instant>,
}

impl Taken {
    pub(super) fn new(reply: Subject, of: Arc<Incarnation>, now: Instant) -> Self {
        let until = Mutex::new(now + of.term);
        Self { reply, of, until }
    }

    pub(super) fn until(&self) -> Instant {
        // One value cannot be half-written.
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_until(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// Answers all, each by itself.
pub(super) async fn all(place: &Place, items: Vec<(Handle, Settle)>) -> Result<Vec<Settled>> {
    let client = place.connection.client().await?;
    let answers = items
        .iter()
        .map(|(handle, how)| one(place, &client, handle, *how));
    Ok(join_all(answers).await)
}

async fn one(place: &Place, client: &Client, handle: &Handle, how: Settle) -> Settled {
    let Some(taken) = handle.get::<Arc<Taken>>() else {
        return Settled::Gone;
    };
    let now = Instant::now();
    let is_over = now >= taken.until();
    let (kind, until) = match how {
        // The server takes a late acknowledgement too, and the message is done.
        Settle::Ack => (AckKind::Ack, now),
        Settle::Back(_) | Settle::Extend if is_over => return Settled::Gone,
        Settle::Back(wait) => (AckKind::Nak((!wait.is_zero()).then_some(wait)), now),
        Settle::Extend => (AckKind::Progress, now + taken.of.term),
        _ => return Settled::Later,
    };
    if taken.of.is_gone() {
        return Settled::Gone;
    }
    match client.request(taken.reply.clone(), kind.into()).await {
        Ok(_) => {
            taken.set_until(until);
            Settled::Done
        }
        // The consumer is not there at this moment: deleted, or its server is starting.
        Err(error) if error.kind() == RequestErrorKind::NoResponders => {
            place.doubt();
            Settled::Later
        }
        Err(_) => Settled::Later,
    }
}
