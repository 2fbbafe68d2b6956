//! Shorthand for what people see of messages and do to them.

use semel_core::inbox::{
    Action, Cause, Counts, Detail, Entry, Gap, Operation, Query, Receipt, Report, Selection, State,
    WaitingLane,
};
use semel_core::store::{Actor, AuditEntry};

use super::subject::Subject;
use super::values::key;

impl Subject {
    /// All that is known about the message with this id.
    pub async fn detail(&self, id: &str) -> Option<Detail> {
        let found = self.inbox().message(self.identity(id)).await;
        found.expect("the inbox answers")
    }

    /// What lists show of the message with this id, which must be known.
    pub async fn entry(&self, id: &str) -> Entry {
        let detail = self.detail(id).await;
        detail.unwrap_or_else(|| panic!("{id} is known")).entry
    }

    /// Where the message with this id stands, and why.
    pub async fn state(&self, id: &str) -> (State, Option<Cause>) {
        let entry = self.entry(id).await;
        (entry.state, entry.cause)
    }

    /// The message with this id stands here; why does not matter.
    pub async fn is(&self, id: &str, state: State) {
        assert_eq!(self.state(id).await.0, state, "{id}");
    }

    /// The message with this id waits for this reason.
    pub async fn is_parked(&self, id: &str, cause: Cause) {
        assert_eq!(self.state(id).await, (State::Parked, Some(cause)), "{id}");
    }

    /// All messages of the consumer that a query finds, the newest first.
    pub async fn list(&self, query: Query) -> Vec<Entry> {
        let consumer = Some(self.consumer().clone());
        let (query, limit) = (Query { consumer, ..query }, 1_000);
        let page = self.inbox().list_messages(Query { limit, ..query }).await;
        page.expect("the inbox answers").entries
    }

    /// The ids of all messages of the consumer, in order of the text.
    pub async fn ids(&self) -> Vec<String> {
        let entries = self.list(Query::default()).await;
        let mut ids: Vec<_> = entries
            .iter()
            .map(|e| e.identity.key().to_string())
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The counts of the consumer.
    pub async fn counts(&self) -> Counts {
        let counts = self.inbox().counts().await.expect("the inbox answers");
        let own = counts.into_iter().find(|c| c.consumer == *self.consumer());
        own.unwrap_or_else(|| Counts::none(self.consumer().clone()))
    }

    /// The gaps of the consumer.
    pub async fn gaps(&self) -> Vec<Gap> {
        let gaps = self.inbox().gaps(self.consumer().clone(), 100).await;
        gaps.expect("the inbox answers")
    }

    /// The lanes of the consumer in which messages wait.
    pub async fn waiting_lanes(&self) -> Vec<WaitingLane> {
        let lanes = self.inbox().waiting_lanes(self.consumer().clone(), 100);
        lanes.await.expect("the inbox answers")
    }

    /// Looks after gaps; how many messages changed.
    pub async fn advance_lanes(&self) -> usize {
        let advanced = self.inbox().advance_lanes(self.plan().clone(), 100).await;
        advanced.expect("the inbox answers")
    }

    /// A change by hand of the messages that are selected.
    pub fn operation(&self, action: Action, select: Selection) -> Operation {
        Operation {
            plan: self.plan().clone(),
            select,
            action,
            by: Actor::new("the suite").expect("a short name"),
            reason: Some("INC-7".to_owned()),
            verb: "inbox test",
            dry_run: false,
            edit: None,
        }
    }

    /// Carries out a change by hand.
    pub async fn operate_as(&self, operation: Operation) -> Report {
        let report = self.inbox().operate(operation).await;
        report.expect("the inbox answers")
    }

    /// Does something to the messages with these ids.
    pub async fn operate(&self, action: Action, ids: &[&str]) -> Report {
        self.operate_as(self.operation(action, by_ids(ids))).await
    }

    /// Says what would be done to the messages with these ids.
    pub async fn dry_run(&self, action: Action, ids: &[&str]) -> Report {
        let mut operation = self.operation(action, by_ids(ids));
        operation.dry_run = true;
        self.operate_as(operation).await
    }

    /// The lines of the audit about this consumer, the newest first.
    pub async fn audit(&self) -> Vec<AuditEntry> {
        let audit = self.store().audit(1_000).await.expect("the store answers");
        let own = |line: &AuditEntry| line.scope == *self.consumer();
        audit.into_iter().filter(own).collect()
    }
}

/// The messages with these ids.
pub(super) fn by_ids(ids: &[&str]) -> Selection {
    Selection {
        ids: ids.iter().map(|id| key(id)).collect(),
        ..Selection::default()
    }
}

/// Stored in this state.
pub(super) const fn stored(state: State) -> Receipt {
    Receipt::Stored { state }
}

/// Known in this state.
pub(super) const fn duplicate(state: State) -> Receipt {
    Receipt::duplicate(state)
}
