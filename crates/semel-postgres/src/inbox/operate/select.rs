//! Which messages an operation is about.

use semel_core::inbox::operate::{OPERATE_MAX, SELECT_IDS_MAX};
use semel_core::inbox::{Action, Cause, Operation, Selection, State};
use semel_core::{Error, Fingerprint, Identity, Kind, Result, Tenant};
use uuid::Uuid;

use super::super::rows::{Work, cause_of, identity_of, state_of};
use crate::records::{bytes32, digest};
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

/// The most tenants that are gone through for each id.
const TENANTS_MAX: usize = 1_000;

/// A message that was selected.
#[derive(Debug, Clone)]
pub(super) struct Selected {
    pub(super) digest: Uuid,
    pub(super) expires_ms: i64,
    pub(super) number: i64,
    pub(super) received_ms: i64,
    pub(super) identity: Identity,
    pub(super) fingerprint: Fingerprint,
    pub(super) lane: Option<String>,
    pub(super) sequence: Option<i64>,
    pub(super) state: State,
    pub(super) cause: Option<Cause>,
    /// Whether its contents were erased.
    pub(super) is_erased: bool,
    /// Whether only the record is left of it.
    pub(super) is_gone: bool,
    /// Whether its id was received again since.
    pub(super) is_superseded: bool,
    /// Whether another operation has changed it since it was selected.
    pub(super) is_overtaken: bool,
}

impl Selected {
    /// Its digest and the end of its retention, which no other message of its id shares.
    pub(super) const fn place(&self) -> (Uuid, i64) {
        (self.digest, self.expires_ms)
    }

    /// Whether this row of work is its own. An id that was received again has that of its newer message.
    pub(super) fn owns(&self, work: &Work) -> bool {
        self.place() == (work.digest, work.expires_ms)
    }

    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            digest: row.digest(0)?,
            expires_ms: row.number(1)?,
            number: row.number(2)?,
            received_ms: row.number(3)?,
            identity: identity_of(row, 4)?,
            fingerprint: Fingerprint::from_bytes(bytes32(row, 8)?),
            lane: row.text(9)?.map(str::to_owned),
            sequence: row.int(10)?,
            state: row.int(11)?.map_or(Ok(State::Completed), state_of)?,
            cause: cause_of(row.text(12)?)?,
            is_erased: row.number(13)? != 0,
            is_gone: row.number(14)? != 0,
            is_superseded: false,
            is_overtaken: false,
        })
    }
}

/// Not too many ids.
pub(super) fn check(select: &Selection) -> Result<()> {
    match select.ids.len() {
        count if count > SELECT_IDS_MAX => {
            let message = format!("a selection names at most {SELECT_IDS_MAX} ids, found {count}");
            Err(Error::new(Kind::Limit, message))
        }
        _ => Ok(()),
    }
}

impl<D: Driver> Session<'_, D> {
    /// The messages that an operation is about, at most one more than it may change.
    pub(super) async fn select(
        &mut self,
        operation: &Operation,
    ) -> Result<Vec<Selected>, D::Error> {
        let select = &operation.select;
        if !select.ids.is_empty() {
            return self.select_ids(operation).await;
        }
        let states: &[State] = match select.states.is_empty() {
            true => operation.action.states(),
            false => &select.states,
        };
        let mut found = self.select_work(operation, states).await?;
        if states.contains(&State::Completed) && select.cause.is_none() {
            found.extend(self.select_kept(operation).await?);
        }
        found.sort_by_key(|selected| selected.number);
        found.truncate(OPERATE_MAX + 1);
        Ok(found)
    }

    async fn select_work(
        &mut self,
        operation: &Operation,
        states: &[State],
    ) -> Result<Vec<Selected>, D::Error> {
        let mut params = vec![Value::text(operation.plan.consumer.to_string())];
        params.extend(filters(&operation.select, states));
        params.push(Value::Text(operation.select.tenant.clone()));
        params.push(limit());
        // What was erased before is not met again by every step of an erasure.
        params.push(is_erasure(operation));
        params.push(unchanged_since(operation));
        self.selected(&self.sql.inbox.select_work, params).await
    }

    async fn select_kept(&mut self, operation: &Operation) -> Result<Vec<Selected>, D::Error> {
        let (consumer, select) = (&operation.plan.consumer, &operation.select);
        let [_states, lane, _cause, from, until] = filters(select, &[]);
        let params = vec![
            Value::text(consumer.name()),
            Value::int(consumer.version()),
            lane,
            from,
            until,
            Value::Text(select.tenant.clone()),
            limit(),
            unchanged_since(operation),
        ];
        let sql = match operation.action {
            Action::EraseContents => &self.sql.inbox.select_erasable,
            _ => &self.sql.inbox.select_kept,
        };
        self.selected(sql, params).await
    }

    async fn select_ids(&mut self, operation: &Operation) -> Result<Vec<Selected>, D::Error> {
        let (consumer, select) = (&operation.plan.consumer, &operation.select);
        let tenants = match &select.tenant {
            Some(tenant) => vec![Tenant::new(tenant)?],
            None => self.tenants(operation).await?,
        };
        let identities = tenants.iter().flat_map(|tenant| {
            let of =
                |id: &semel_core::Key| Identity::new(tenant.clone(), consumer.clone(), id.clone());
            select.ids.iter().map(of)
        });
        let mut digests: Vec<Uuid> = identities.map(|identity| digest(&identity)).collect();
        digests.sort_unstable();
        digests.dedup();
        let mut params = vec![Value::Uuids(digests)];
        params.extend(filters(select, &select.states));
        params.push(unchanged_since(operation));
        params.push(is_erasure(operation));
        self.selected(&self.sql.inbox.select_ids, params).await
    }

    async fn tenants(&mut self, operation: &Operation) -> Result<Vec<Tenant>, D::Error> {
        let params = vec![
            Value::text(operation.plan.consumer.to_string()),
            Value::int(i64::try_from(TENANTS_MAX + 1).unwrap_or(i64::MAX)),
        ];
        let rows = self.driver.rows(&self.sql.inbox.tenants, params).await?;
        if rows.len() > TENANTS_MAX {
            let message = format!(
                "the consumer has messages of more than {TENANTS_MAX} tenants: name the one whose ids are meant"
            );
            return Err(Error::invalid(message).into());
        }
        let tenants = rows.iter().map(|row| Tenant::new(row.word(0)?));
        Ok(tenants.collect::<Result<_>>()?)
    }

    async fn selected(&mut self, sql: &str, params: Vec<Value>) -> Result<Vec<Selected>, D::Error> {
        let rows = self.driver.rows(sql, params).await?;
        Ok(rows.iter().map(Selected::of).collect::<Result<_>>()?)
    }
}

fn is_erasure(operation: &Operation) -> Value {
    Value::int(operation.action == Action::EraseContents)
}

/// What arrived or changed after this moment is left alone.
fn unchanged_since(operation: &Operation) -> Value {
    Value::Int(operation.select.unchanged_since.map(|at| at.as_millis()))
}

fn limit() -> Value {
    Value::int(i64::try_from(OPERATE_MAX + 1).unwrap_or(i64::MAX))
}

/// States, lane, cause, from, until.
fn filters(select: &Selection, states: &[State]) -> [Value; 5] {
    [
        Value::ints(states.iter().map(|state| i64::from(state.number()))),
        Value::Text(select.lane.as_ref().map(ToString::to_string)),
        Value::Text(select.cause.map(|cause| cause.name().to_owned())),
        Value::Int(select.from.map(|at| at.as_millis())),
        Value::Int(select.until.map(|at| at.as_millis())),
    ]
}
