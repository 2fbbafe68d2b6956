//! Limits of tenants at the door for messages, before anything is stored.
//!
//! Whether a message is new is known only once it is stored, so each one needs the right to a new key; what turns out to be a duplicate
//! gives it back. A batch is stored whole or refused whole.

use std::collections::VecDeque;

use semel_core::inbox::{Message, Receipt};
use semel_http::problem::Problem;
use semel_http::quota::{Place, Ticket};

use super::hook::Webhook;

/// The rights of the messages of one request, in their order.
pub(super) struct Tickets(VecDeque<Ticket>);

impl Tickets {
    /// Counts the messages, or says which limit they are over.
    pub(super) fn take(webhook: &Webhook, messages: &[Message]) -> Result<Self, Box<Problem>> {
        let (quotas, at) = (&webhook.quotas, Place::plain(&webhook.consumer));
        let ticket = |message: &Message| {
            let tenant = message.identity().tenant();
            let counted = quotas.request(at, tenant);
            let ticket = counted.and_then(|()| quotas.new_key(at, tenant));
            ticket.map_err(|exceeded| Box::new(quotas.refuse(exceeded, at, tenant)))
        };
        let tickets = messages.iter().map(ticket).collect::<Result<_, _>>()?;
        Ok(Self(tickets))
    }

    /// What became of the next message.
    pub(super) fn spend(&mut self, message: &Message, receipt: Receipt) {
        let Some(mut ticket) = self.0.pop_front() else {
            return;
        };
        match receipt {
            Receipt::Duplicate { .. } => {}
            Receipt::Stored { .. } | Receipt::Conflict => {
                ticket.used();
                ticket.stored(stored_bytes(message));
            }
        }
    }
}

fn stored_bytes(message: &Message) -> u64 {
    let headers = message.headers().iter();
    let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
    (headers + message.payload().len()) as u64
}
