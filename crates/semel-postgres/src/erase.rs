//! Erasing contents: what the history and the archive hold of what was asked and answered. The rows stay.
//!
//! What PostgreSQL has overwritten stays in dead rows until `VACUUM`, and in its log, its replicas' and backups for as long as
//! those are kept.

use semel_core::protocol::{Change, Step};
use semel_core::record::Claim;
use semel_core::{Identity, Record};

use crate::records::{Stored, digest, sql_fence};
use crate::session::{Driver, Session, erased_values};
use crate::value::Value;

impl<D: Driver> Session<'_, D> {
    /// As [`semel_core::EventKind::without_contents`] says.
    pub(crate) async fn erase_history(&mut self, identity: &Identity) -> Result<(), D::Error> {
        let params = vec![Value::Uuid(Some(digest(identity)))];
        let erased = self.driver.rows(&self.sql.erase_history, params).await;
        erased.map(drop)
    }

    /// The archived record of a claim.
    pub(crate) async fn archived(&mut self, claim: &Claim) -> Result<Option<Record>, D::Error> {
        let params = archived_values(claim).into();
        let rows = self.driver.rows(&self.sql.archived, params).await?;
        let stored = rows.first().map(|row| Stored::of(row, None)).transpose()?;
        Ok(stored.and_then(|stored| stored.record))
    }

    /// Makes the change to the archived record of a claim that was decided about it; what is left of the step is about
    /// its history and the audit.
    pub(crate) async fn erase_archived<A>(
        &mut self,
        claim: &Claim,
        step: &mut Step<A>,
    ) -> Result<(), D::Error> {
        let change = std::mem::replace(&mut step.change, Change::None);
        let Change::EraseContents(settled) = change else {
            return Ok(());
        };
        let params = archived_values(claim)
            .into_iter()
            .chain(erased_values(&settled));
        self.driver
            .rows(&self.sql.erase_archived, params.collect())
            .await?;
        self.erase_history(&claim.identity).await
    }
}

fn archived_values(claim: &Claim) -> [Value; 5] {
    let identity = &claim.identity;
    [
        Value::int(sql_fence(claim.fence)),
        Value::text(identity.tenant().as_str()),
        Value::text(identity.scope().name()),
        Value::int(identity.scope().version()),
        Value::text(identity.key().as_str()),
    ]
}
