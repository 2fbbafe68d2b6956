//! Lists of messages.

use semel_core::inbox::{Entry, Page, Query, State};
use semel_core::{Error, Identity, Key, Result, Scope, Tenant, Timestamp};
use uuid::Uuid;

use super::super::rows::{cause_of, identity_of, signed, small, state_of, unsigned};
use crate::engine::Engine;
use crate::error::damaged;
use crate::records::digest;
use crate::value::{Row, Value};

/// How many columns `{entry}` stands for.
pub(super) const ENTRY_COLUMNS: usize = 19;

/// The most pairs of a consumer and a tenant that are gone through for an id.
const PLACES_MAX: usize = 10_000;

impl Engine {
    /// One page of messages, the newest first.
    pub(crate) async fn list_messages(&self, query: &Query) -> Result<Page> {
        if let Some(id) = &query.id {
            return self.list_ids(query, id).await;
        }
        let completed = query.states.is_empty() || query.states.contains(&State::Completed);
        // Completed messages have no cause, so asking for one asks for work.
        let sql = match completed && query.cause.is_none() {
            true => &self.sql.inbox.list_kept,
            false => &self.sql.inbox.list_work,
        };
        let rows = self
            .read("listing messages", sql, &list_values(query))
            .await?;
        page_of(query, &rows)
    }

    /// The same for an id: found by what it would be called for every consumer and tenant that is meant.
    async fn list_ids(&self, query: &Query, id: &Key) -> Result<Page> {
        let params = [
            Value::Text(query.consumer.as_ref().map(ToString::to_string)),
            Value::Text(query.tenant.as_ref().map(ToString::to_string)),
            Value::int(i64::try_from(PLACES_MAX + 1).unwrap_or(i64::MAX)),
        ];
        let sql = &self.sql.inbox;
        let places = self.read("listing messages", &sql.places, &params).await?;
        if places.len() > PLACES_MAX {
            let message = format!(
                "there are messages of more than {PLACES_MAX} tenants: name the one, or the consumer, whose id is meant"
            );
            return Err(Error::invalid(message));
        }
        let digests = places.iter().map(|row| {
            let consumer: Scope = row.word(0)?.parse()?;
            let tenant = Tenant::new(row.word(1)?)?;
            Ok(digest(&Identity::new(tenant, consumer, id.clone())))
        });
        let digests: Vec<Uuid> = digests.collect::<Result<_>>()?;
        // The consumer is in the ids.
        let [_consumer, rest @ ..] = list_values(query);
        let params: Vec<Value> = rest.into_iter().chain([Value::Uuids(digests)]).collect();
        let rows = self
            .read("listing messages", &sql.list_ids, &params)
            .await?;
        page_of(query, &rows)
    }
}

/// The rows of a page, of which one more was asked for than it has.
fn page_of(query: &Query, rows: &[Row]) -> Result<Page> {
    let entries = rows.iter().map(|row| entry_of(row, 0));
    let mut entries = entries.collect::<Result<Vec<Entry>>>()?;
    let more = entries.len() > query.page_len();
    entries.truncate(query.page_len());
    let next = entries.last().filter(|_| more).map(|entry| entry.number);
    Ok(Page { entries, next })
}

fn list_values(query: &Query) -> [Value; 9] {
    let states: Vec<State> = match (query.states.is_empty(), query.cause) {
        (true, Some(_)) => State::ALL.to_vec(),
        _ => query.states.clone(),
    };
    // One more than the page, to know whether there is another.
    let limit = i64::try_from(query.page_len() + 1).unwrap_or(i64::MAX);
    [
        Value::Text(query.consumer.as_ref().map(ToString::to_string)),
        Value::Int(query.before.map(signed)),
        Value::ints(states.iter().map(|state| i64::from(state.number()))),
        Value::Text(query.lane.as_ref().map(ToString::to_string)),
        Value::Text(query.cause.map(|cause| cause.name().to_owned())),
        Value::int(limit),
        Value::Text(query.tenant.as_ref().map(ToString::to_string)),
        Value::Int(query.from.map(Timestamp::as_millis)),
        Value::Int(query.until.map(Timestamp::as_millis)),
    ]
}

/// Reads `{entry}` from column `at` on.
pub(super) fn entry_of(row: &Row, at: usize) -> Result<Entry> {
    let text = |offset| Ok::<_, semel_core::Error>(row.text(at + offset)?.map(str::to_owned));
    let instant =
        |offset| Ok::<_, semel_core::Error>(row.int(at + offset)?.map(Timestamp::from_millis));
    let lane = row.text(at + 9)?.map(Key::new).transpose();
    Ok(Entry {
        identity: identity_of(row, at)?,
        number: unsigned(row.int(at + 4)?).unwrap_or(0),
        state: state_of(row.number(at + 5)?)?,
        cause: cause_of(row.text(at + 6)?)?,
        error: text(7)?,
        kind: text(8)?,
        lane: lane.map_err(|e| damaged("a lane breaks the rules").caused_by(e))?,
        sequence: unsigned(row.int(at + 10)?),
        received_at: Timestamp::from_millis(row.number(at + 11)?),
        changed_at: Timestamp::from_millis(row.number(at + 12)?),
        due_at: instant(13)?,
        attempts: small(row.number(at + 14)?),
        generation: small(row.number(at + 15)?),
        duplicates: unsigned(row.int(at + 16)?).unwrap_or(0),
        worker: text(17)?,
        payload_bytes: unsigned(row.int(at + 18)?),
    })
}
