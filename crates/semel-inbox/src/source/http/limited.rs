//! Limits of tenants at the door for messages, before anything is stored.
//!
//! Whether a message is new is known only once it is stored, so each one needs the right to a new key; what turns out to be a duplicate
//! gives it back. A batch is counted whole or refused whole, and a refused one counts as one request. Only a batch that is about to be refused for
//! its new messages is looked up: what is known stores nothing and needs no right, so a tenant that has none left can still send again what may
//! have been stored.

use std::collections::BTreeMap;

use semel_core::inbox::{Detail, Inbox, Message, Receipt};
use semel_core::{Identity, Tenant};
use semel_http::Quotas;
use semel_http::problem::Problem;
use semel_http::quota::{Exceeded, Place, Ticket};

use super::hook::Webhook;

/// The rights of the messages of one request, by tenant.
pub(super) struct Tickets(BTreeMap<Tenant, Ticket>);

impl Tickets {
    /// Counts the messages, or says which limit they are over.
    pub(super) async fn take(
        webhook: &Webhook,
        inbox: &dyn Inbox,
        messages: &[Message],
    ) -> Result<Self, Box<Problem>> {
        let (quotas, at) = (&webhook.quotas, Place::plain(&webhook.consumer));
        let mut by_tenant: BTreeMap<&Tenant, Vec<&Message>> = BTreeMap::new();
        for message in messages {
            let tenant = message.identity().tenant();
            by_tenant.entry(tenant).or_default().push(message);
        }
        let mut counted = Counted::new(quotas, at);
        for (tenant, messages) in &by_tenant {
            counted.add(tenant, messages.len() as u64)?;
        }
        let mut tickets = BTreeMap::new();
        for (tenant, messages) in &by_tenant {
            match ticket(quotas, at, inbox, messages).await {
                Ok(ticket) => tickets.insert((*tenant).clone(), ticket),
                Err(exceeded) => return Err(counted.refuse(exceeded, tenant)),
            };
        }
        Ok(Self(tickets))
    }

    /// What became of a message.
    pub(super) fn spend(&mut self, message: &Message, receipt: Receipt) {
        let Some(ticket) = self.0.get_mut(message.identity().tenant()) else {
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

/// The requests that a batch was counted as.
struct Counted<'a> {
    quotas: &'a Quotas,
    at: Place<'a>,
    of: Vec<(&'a Tenant, u64)>,
}

impl<'a> Counted<'a> {
    const fn new(quotas: &'a Quotas, at: Place<'a>) -> Self {
        let of = Vec::new();
        Self { quotas, at, of }
    }

    fn add(&mut self, tenant: &'a Tenant, count: u64) -> Result<(), Box<Problem>> {
        if let Err(exceeded) = self.quotas.requests(self.at, tenant, count) {
            self.uncount_but(0);
            return Err(Box::new(self.quotas.refuse(exceeded, self.at, tenant)));
        }
        self.of.push((tenant, count));
        Ok(())
    }

    /// The batch was looked at, so it counts as one request.
    fn refuse(&self, exceeded: Exceeded, tenant: &Tenant) -> Box<Problem> {
        self.uncount_but(1);
        Box::new(self.quotas.refuse(exceeded, self.at, tenant))
    }

    fn uncount_but(&self, kept: u64) {
        for (tenant, count) in &self.of {
            let back = count.saturating_sub(kept);
            self.quotas.uncount(self.at, tenant, back);
        }
    }
}

/// The right of one tenant's messages: if there is none for all of them, then one for those that are not known.
async fn ticket(
    quotas: &Quotas,
    at: Place<'_>,
    inbox: &dyn Inbox,
    messages: &[&Message],
) -> Result<Ticket, Exceeded> {
    let Some(tenant) = messages.first().map(|message| message.identity().tenant()) else {
        return Ok(Ticket::default());
    };
    if let Ok(ticket) = quotas.new_keys(at, tenant, messages.len() as u64) {
        return Ok(ticket);
    }
    let mut new = 0;
    for message in messages {
        if !is_known(inbox, message).await {
            new += 1;
            // As soon as they are too many, no more need be looked up.
            quotas.would_allow(at, tenant, new)?;
        }
    }
    match new {
        0 => Ok(quotas.on_record(at, tenant)),
        new => quotas.new_keys(at, tenant, new),
    }
}

/// Whether nothing would be stored because of this message. Another payload under a known id is stored beside it, unless that was done before.
async fn is_known(inbox: &dyn Inbox, message: &Message) -> bool {
    let Some(first) = known(inbox, message.identity()).await else {
        return false;
    };
    if first.fingerprint == message.fingerprint() {
        return true;
    }
    let beside = message.clone().as_conflict();
    known(inbox, beside.identity()).await.is_some()
}

/// What is known under an id. Without an answer of the store it counts as new: its sender is refused and sends it again.
async fn known(inbox: &dyn Inbox, identity: &Identity) -> Option<Detail> {
    inbox.message(identity.clone()).await.ok().flatten()
}

fn stored_bytes(message: &Message) -> u64 {
    let headers = message.headers().iter();
    let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
    (headers + message.payload().len()) as u64
}
