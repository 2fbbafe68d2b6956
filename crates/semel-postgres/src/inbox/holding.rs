//! What the holder of a claim asks for while it works.

use std::collections::HashMap;

use semel_core::inbox::work::STEPS_MAX;
use semel_core::inbox::{Claim, Renewal, Step};
use semel_core::{Error, Kind, LeaseTerm, Result};
use uuid::Uuid;

use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::{digest, sql_fence, sql_ms};
use crate::value::Value;

/// Extends the leases of claims that still hold.
pub(crate) struct Renewing<'a> {
    pub(crate) claims: &'a [Claim],
    pub(crate) lease: LeaseTerm,
}

impl Call for Renewing<'_> {
    type Answer = Vec<Renewal>;

    const DOING: &'static str = "renewing claims of messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Vec<Renewal>, Failure> {
        if self.claims.is_empty() {
            return Ok(Vec::new());
        }
        let mut sorted: Vec<&Claim> = self.claims.iter().collect();
        sorted.sort_by_key(|claim| digest(&claim.identity));
        let params = [
            Value::Uuids(sorted.iter().map(|t| digest(&t.identity)).collect()),
            Value::ints(sorted.iter().map(|t| sql_fence(t.fence))),
            Value::int(sql_ms(self.lease.get())),
        ];
        let rows = link.ask_alone(&engine.sql.inbox.renew, &params).await?;
        let mut held: HashMap<Uuid, Renewal> = HashMap::new();
        for row in &rows {
            let renewal = match (row.number(1)? > 0, row.number(2)? > 0) {
                (true, _) => Renewal::Held,
                // Another transaction holds the row, maybe the owner's own: the claim is what it was.
                (false, true) => Renewal::Busy,
                (false, false) => Renewal::Lost,
            };
            held.insert(row.digest(0)?, renewal);
        }
        let judge = |claim: &Claim| held.get(&digest(&claim.identity)).copied();
        let judged = self.claims.iter().map(judge);
        Ok(judged.map(|held| held.unwrap_or(Renewal::Lost)).collect())
    }
}

/// Remembers a step, if the claim still holds.
pub(crate) struct Remembering<'a> {
    pub(crate) claim: &'a Claim,
    pub(crate) step: &'a Step,
}

impl Call for Remembering<'_> {
    type Answer = Renewal;

    const DOING: &'static str = "remembering a step";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Renewal, Failure> {
        let params = [
            Value::Uuid(Some(digest(&self.claim.identity))),
            Value::int(sql_fence(self.claim.fence)),
            Value::text(&*self.step.name),
            Value::Bytes(Some(self.step.result.clone())),
            Value::int(i64::try_from(STEPS_MAX).unwrap_or(i64::MAX)),
        ];
        let rows = link.ask_alone(&engine.sql.inbox.step, &params).await?;
        let nothing = || crate::error::damaged("no answer about a step");
        let row = rows.first().ok_or_else(nothing)?;
        match (row.number(0)? != 0, row.number(1)? != 0) {
            (false, _) => Ok(Renewal::Lost),
            (true, true) => Ok(Renewal::Held),
            (true, false) => {
                let message = format!("a message remembers at most {STEPS_MAX} steps");
                Err(Error::new(Kind::Limit, message).into())
            }
        }
    }
}
