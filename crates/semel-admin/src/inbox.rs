//! The inbox that the admin side speaks about, and what is configured for its consumers.

use std::collections::HashMap;
use std::sync::Arc;

use semel_core::inbox::{Action, Counts, Inbox, Plan, Query};
use semel_core::store::PAGE_MAX;
use semel_core::{Error, Result, Scope};
use semel_inbox::Replay;

use crate::current::Current;

/// The name of the alert that fires while messages wait for a consumer that the configuration does not name.
pub const UNSERVED: &str = "unserved";
/// How many pages of messages are searched for one with a lane.
const LANE_PAGES_MAX: usize = 10;

/// An inbox and the policies of its consumers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct InboxPart {
    /// The inbox.
    pub inbox: Arc<dyn Inbox>,
    /// What is configured; a reload replaces it.
    pub policies: Current<Policies>,
}

/// What operators' acts need of the policies of consumers, by their names. Cheap to clone.
///
/// A consumer that is not configured has a plan without order and with the usual retention, and is not replayed unless
/// an operator insists: no policy says that its effects may happen again.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    named: Arc<HashMap<Scope, (Plan, Replay)>>,
    /// Whether a configuration says which consumers there are; the default knows none and says nothing about others.
    is_complete: bool,
}

impl Policies {
    /// The policies of these consumers, which are all that there are.
    pub fn new(policies: impl IntoIterator<Item = (Plan, Replay)>) -> Self {
        let named = |(plan, replay): (Plan, Replay)| (plan.consumer.clone(), (plan, replay));
        Self {
            named: Arc::new(policies.into_iter().map(named).collect()),
            is_complete: true,
        }
    }

    /// What the store must know of a consumer.
    pub fn plan(&self, consumer: &Scope) -> Plan {
        let known = self.named.get(consumer);
        known.map_or_else(|| Plan::new(consumer.clone()), |(plan, _)| plan.clone())
    }

    /// Whether its messages may be replayed.
    pub fn replay(&self, consumer: &Scope) -> Replay {
        let known = self.named.get(consumer);
        known.map_or_else(Replay::default, |(_, replay)| *replay)
    }

    /// Whether it is configured at all.
    pub fn knows(&self, consumer: &Scope) -> bool {
        self.named.contains_key(consumer)
    }

    /// The names of all consumers that are configured.
    pub fn names(&self) -> impl Iterator<Item = &Scope> {
        self.named.keys()
    }

    /// Whether the configuration says which consumers there are.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether messages of a consumer wait although the configuration does not name it: it was renamed or removed, or its version
    /// changed. Without a configuration this is never said.
    pub fn strands(&self, counts: &Counts) -> bool {
        let waiting = counts.pending() + counts.parked;
        self.is_complete && waiting > 0 && !self.knows(&counts.consumer)
    }

    /// Refuses to let messages of a consumer run that the configuration does not name, if they have lanes: in which order they
    /// run, only its policy says. Looking, parking and skipping need no order.
    pub async fn check_order(
        &self,
        inbox: &dyn Inbox,
        consumer: &Scope,
        action: Action,
    ) -> Result<()> {
        let runs = !matches!(action, Action::Park | Action::Skip | Action::EraseContents);
        if !self.is_complete || self.knows(consumer) || !runs {
            return Ok(());
        }
        match has_lanes(inbox, consumer, action).await? {
            false => Ok(()),
            true => Err(Error::invalid(format!(
                "the configuration does not name {consumer}, and its messages have keys: in which order they run, only its policy \
                 says; name it in the file, at its old version if need be; park and skip work without it"
            ))),
        }
    }
}

/// Whether a message that the action is for has a lane. Beyond so many messages this is taken for granted.
async fn has_lanes(inbox: &dyn Inbox, consumer: &Scope, action: Action) -> Result<bool> {
    let mut before = None;
    for _ in 0..LANE_PAGES_MAX {
        let query = Query {
            states: action.states().to_vec(),
            consumer: Some(consumer.clone()),
            before,
            limit: PAGE_MAX,
            ..Query::default()
        };
        let page = inbox.list_messages(query).await?;
        if page.entries.iter().any(|entry| entry.lane.is_some()) {
            return Ok(true);
        }
        before = page.next;
        if before.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
