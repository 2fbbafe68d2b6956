//! What the verbs of the inbox know for the length of one transaction.

use rusqlite::params;
use semel_core::inbox::Plan;
use semel_core::{Fence, Result, Scope};

use super::sql;
use crate::verbs::Session;

/// The numbers of consumers, and for whom something became due.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    consumers: Vec<(Scope, i64)>,
    due: Vec<Scope>,
}

impl Notes {
    /// How much is known, to return to.
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.consumers.len(), self.due.len())
    }

    /// Forgets what was learned since `mark`: it has been rolled back.
    pub(crate) fn return_to(&mut self, (consumers, due): (usize, usize)) {
        self.consumers.truncate(consumers);
        self.due.truncate(due);
    }

    /// The consumers whose waiters are to be woken once the transaction is durable.
    pub(crate) fn into_due(self) -> Vec<Scope> {
        self.due
    }
}

/// A consumer: its plan, and its number in the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consumer<'p> {
    pub(super) plan: &'p Plan,
    pub(super) number: i64,
}

impl Session<'_> {
    /// The number of a consumer that has or had messages.
    pub(super) fn consumer_number(&mut self, scope: &Scope) -> Result<Option<i64>> {
        let known = self.inbox.consumers.iter().find(|(s, _)| s == scope);
        if let Some((_, number)) = known {
            return Ok(Some(*number));
        }
        let found = number_of(self.connection, scope)?;
        if let Some(number) = found {
            self.inbox.consumers.push((scope.clone(), number));
        }
        Ok(found)
    }

    /// The consumer of a plan, if it has or had messages.
    pub(super) fn consumer<'p>(&mut self, plan: &'p Plan) -> Result<Option<Consumer<'p>>> {
        let number = self.consumer_number(&plan.consumer)?;
        Ok(number.map(|number| Consumer { plan, number }))
    }

    /// The consumer of a plan, which is about to have messages.
    pub(super) fn consumer_or_new<'p>(&mut self, plan: &'p Plan) -> Result<Consumer<'p>> {
        if let Some(consumer) = self.consumer(plan)? {
            return Ok(consumer);
        }
        let scope = &plan.consumer;
        sql::run(
            self.connection,
            "INSERT INTO semel_consumers (scope, version) VALUES (?1, ?2)",
            params![scope.name(), scope.version()],
        )?;
        let number = self.connection.last_insert_rowid();
        self.inbox.consumers.push((scope.clone(), number));
        Ok(Consumer { plan, number })
    }

    /// Something became due, or will, for a consumer.
    pub(super) fn wake(&mut self, consumer: &Scope) {
        if !self.inbox.due.contains(consumer) {
            self.inbox.due.push(consumer.clone());
        }
    }

    /// The next fence.
    pub(super) fn draw(&mut self) -> Fence {
        self.last_fence += 1;
        Fence::new(self.last_fence)
    }
}

/// The number of a consumer that has or had messages.
pub(super) fn number_of(connection: &rusqlite::Connection, scope: &Scope) -> Result<Option<i64>> {
    sql::one(
        connection,
        "SELECT consumer FROM semel_consumers WHERE scope = ?1 AND version = ?2",
        params![scope.name(), scope.version()],
        |row| row.get(0),
    )
}
