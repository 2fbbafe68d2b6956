//! The inbox that the admin side speaks about, and what is configured for its consumers.

use std::collections::HashMap;
use std::sync::Arc;

use semel_core::Scope;
use semel_core::inbox::{Inbox, Plan};
use semel_inbox::Replay;

/// An inbox and the policies of its consumers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct InboxPart {
    /// The inbox.
    pub inbox: Arc<dyn Inbox>,
    /// What is configured.
    pub policies: Policies,
}

/// What operators' acts need of the policies of consumers, by their names. Cheap to clone.
///
/// A consumer that is not configured has a plan without order and with the usual retention, and is not replayed unless
/// somebody insists: nobody has said that its effects may happen again.
#[derive(Debug, Clone, Default)]
pub struct Policies(Arc<HashMap<Scope, (Plan, Replay)>>);

impl Policies {
    /// The policies of these consumers.
    pub fn new(policies: impl IntoIterator<Item = (Plan, Replay)>) -> Self {
        let named = |(plan, replay): (Plan, Replay)| (plan.consumer.clone(), (plan, replay));
        Self(Arc::new(policies.into_iter().map(named).collect()))
    }

    /// What the store must know of a consumer.
    pub fn plan(&self, consumer: &Scope) -> Plan {
        let known = self.0.get(consumer);
        known.map_or_else(|| Plan::new(consumer.clone()), |(plan, _)| plan.clone())
    }

    /// Whether its messages may be replayed.
    pub fn replay(&self, consumer: &Scope) -> Replay {
        let known = self.0.get(consumer);
        known.map_or_else(Replay::default, |(_, replay)| *replay)
    }

    /// Whether it is configured at all.
    pub fn knows(&self, consumer: &Scope) -> bool {
        self.0.contains_key(consumer)
    }
}
