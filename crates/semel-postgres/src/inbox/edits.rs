//! What operators made of messages: kept beside what arrived, and brought by the claims that follow.

use std::collections::HashMap;
use std::sync::Arc;

use semel_core::inbox::edit::EDITS_MAX;
use semel_core::inbox::{Edit, Edited, Job, Operation};
use semel_core::{Error, Headers, Result, Timestamp};
use uuid::Uuid;

use super::rows::small;
use crate::error::damaged;
use crate::records::digest;
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

/// The message that an operation edits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edits {
    pub(super) digest: Uuid,
    pub(super) expires_ms: i64,
    pub(super) received_ms: i64,
}

/// Reads an edit.
pub(super) fn edited_of(row: &Row) -> Result<Edited> {
    let broken = |e: Error| damaged("an edit breaks the rules").caused_by(e);
    let headers = row
        .bytes(5)?
        .map_or(Ok(Headers::default()), |bytes| Headers::decode(bytes));
    let payload = row.bytes(6)?.cloned().unwrap_or_default();
    Ok(Edited {
        version: small(row.number(1)?),
        at: Timestamp::from_millis(row.number(2)?),
        by: row.word(3)?.to_owned(),
        reason: row.text(4)?.map(str::to_owned),
        edit: Edit::new(payload, headers.map_err(broken)?).map_err(broken)?,
    })
}

impl<D: Driver> Session<'_, D> {
    /// Keeps what an operation makes of a message, if it makes something of it; only the newest edits stay.
    pub(super) async fn note_edit(
        &mut self,
        operation: &Operation,
        of: Edits,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        let Some(edit) = &operation.edit else {
            return Ok(());
        };
        let headers = edit.headers();
        let id = Value::Uuid(Some(of.digest));
        let params = vec![
            id.clone(),
            Value::int(of.expires_ms),
            Value::int(of.received_ms),
            Value::int(now.as_millis()),
            Value::text(operation.by.as_str()),
            Value::Text(operation.reason.clone()),
            Value::Bytes((!headers.is_empty()).then(|| headers.encode().into())),
            Value::Bytes(Some(edit.payload().clone())),
        ];
        let sql = &self.sql.inbox;
        self.driver.rows(&sql.note_edit, params).await?;
        let kept = i64::try_from(EDITS_MAX).unwrap_or(i64::MAX);
        let trimmed = self
            .driver
            .rows(&sql.trim_edits, vec![id, Value::int(kept)]);
        trimmed.await.map(drop)
    }

    /// Gives messages that were claimed the contents that operators gave them. An edit begins a new generation, so others need no look.
    pub(super) async fn put_edits(&mut self, jobs: &mut [Job]) -> Result<(), D::Error> {
        let mut by_hand: Vec<&mut Job> = jobs.iter_mut().filter(|job| job.generation > 0).collect();
        if by_hand.is_empty() {
            return Ok(());
        }
        let digests = by_hand.iter().map(|job| digest(&job.claim.identity));
        let params = vec![
            Value::Uuids(digests.collect()),
            Value::ints(by_hand.iter().map(|job| job.received_at.as_millis())),
        ];
        let sql = &self.sql.inbox.newest_edits;
        let mut newest = HashMap::new();
        for row in &self.driver.rows(sql, params).await? {
            newest.insert(row.digest(0)?, edited_of(row)?);
        }
        for job in &mut by_hand {
            if let Some(edited) = newest.remove(&digest(&job.claim.identity)) {
                let message = (*job.message).clone();
                job.message = Arc::new(message.with_edit(edited.version, edited.edit));
            }
        }
        Ok(())
    }
}
