//! Which messages an operation is about.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use semel_core::inbox::{Action, Operation, Selection, State};
use semel_core::{Identity, Key, Result, Tenant};

use super::filter::{Filter, Source};
use super::sql::{SqlState, failed};
use super::{notes, records, rows};
use crate::verbs::Session;

/// The messages that an operation names, in the order of arrival, with the states they are in; at most `limit`.
pub(super) fn select(
    connection: &Connection,
    operation: &Operation,
    consumer: i64,
    limit: usize,
) -> Result<Vec<(i64, State)>> {
    let select = &operation.select;
    let states = match select.states.is_empty() {
        // An id that is named is looked at whatever its state, so that people hear why nothing happens.
        true if !select.ids.is_empty() => &[],
        true => operation.action.states(),
        false => select.states.as_slice(),
    };
    if select.ids.is_empty() {
        let from = Source::of(states);
        let filter = filter(select, states, from, consumer);
        let filter = match operation.action {
            // What was erased before is not met again by every step.
            Action::EraseContents => filter.and("m.erased_ms IS ?", Value::Null),
            _ => filter,
        };
        return ask(connection, from, filter, limit);
    }
    let mut found = Vec::with_capacity(select.ids.len());
    for id in &select.ids {
        let from = Source::MESSAGES;
        let filter = filter(select, states, from, consumer).and("m.key = ?", id.to_string());
        found.extend(ask(connection, from, filter, limit)?);
    }
    found.sort_unstable_by_key(|(number, _)| *number);
    found.dedup();
    found.truncate(limit);
    Ok(found)
}

fn filter(select: &Selection, states: &[State], from: Source, consumer: i64) -> Filter {
    let filter = Filter::default()
        .and(format!("{} = ?", from.consumer), consumer)
        .and_if("m.tenant = ?", select.tenant.clone())
        .and_if("m.lane = ?", select.lane.as_ref().map(Key::to_string))
        .and_if("m.received_ms >= ?", select.from.map(|t| t.as_millis()))
        .and_if("m.received_ms < ?", select.until.map(|t| t.as_millis()))
        .and_if(
            // What is completed has no work: the record says since when.
            "coalesce(w.changed_ms, m.received_ms) <= ?",
            select.unchanged_since.map(|t| t.as_millis()),
        )
        .and_cause(select.cause);
    match states.is_empty() {
        true => filter,
        false => filter.and_states(states),
    }
}

fn ask(
    connection: &Connection,
    from: Source,
    filter: Filter,
    limit: usize,
) -> Result<Vec<(i64, State)>> {
    let (conditions, values) = filter.into_parts();
    let Source { tables, number, .. } = from;
    let sql = format!(
        "SELECT m.number, w.state FROM {tables} WHERE {conditions} ORDER BY {number} LIMIT {limit}"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        let state: Option<SqlState> = row.get(1)?;
        Ok((row.get(0)?, state.map_or(State::Completed, |state| state.0)))
    };
    let found = statement.query_map(params_from_iter(values), read);
    let found: rusqlite::Result<_> = found.map_err(failed)?.collect();
    found.map_err(failed)
}

impl Session<'_> {
    /// Whether a message that was selected has stood as it does for as long as the operation wants. That of work the statement has asked already.
    pub(super) fn stood_still(
        &self,
        operation: &Operation,
        number: i64,
        state: State,
    ) -> Result<bool> {
        let Some(since) = operation.select.unchanged_since else {
            return Ok(true);
        };
        if state != State::Completed {
            return Ok(true);
        }
        let (identity, _) = rows::named(self.connection, &operation.plan.consumer, number)?;
        let record = records::brief(self.connection, &identity)?;
        Ok(record.is_none_or(|record| record.settled_at().is_none_or(|at| at <= since)))
    }

    /// How many of the named messages were dealt with and are no longer kept.
    pub(super) fn gone(&self, operation: &Operation) -> Result<u64> {
        let (select, consumer) = (&operation.select, &operation.plan.consumer);
        let tenant = match &select.tenant {
            Some(tenant) => Tenant::new(tenant)?,
            None => Tenant::public(),
        };
        let number = notes::number_of(self.connection, consumer)?;
        let mut gone = 0;
        for id in &select.ids {
            let identity = Identity::new(tenant.clone(), consumer.clone(), id.clone());
            let is_kept = match number {
                Some(number) => rows::find(self.connection, number, &identity)?.is_some(),
                None => false,
            };
            let record = records::brief(self.connection, &identity)?;
            let is_settled = record.is_some_and(|record| record.is_settled(self.kept_since()));
            gone += u64::from(!is_kept && is_settled);
        }
        Ok(gone)
    }
}
