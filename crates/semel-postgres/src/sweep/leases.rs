//! Leases that have ended, by what was noted as open.

use semel_core::{Result, Timestamp, protocol};

use super::{LEASES, Step, YOUNG, count, first, size};
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::Stored;
use crate::session::Session;

impl Engine {
    /// Writes down that leases have ended, so that no step of the clock can revive them. A record that cannot be read is reported and
    /// passed over.
    pub(super) async fn end_leases(&self, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        let limit = step.limit.min(LEASES);
        link.begin().await?;
        let mut session = Session::new(link, &self.sql);
        let ended = end_in(&mut session, limit).await;
        let claims = std::mem::take(&mut session.ended);
        let (found, unread) = link.end(ended).await?;
        self.ended(&claims);
        step.swept.leases_ended = claims.len();
        step.swept.more |= found >= limit;
        unread.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Forgets what is no longer open, and decides when to look at the rest.
    pub(super) async fn relook(&self, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        let limit = step.limit.max(LEASES);
        let rows = link.ask_alone(&self.sql.relook, &[count(limit)]).await?;
        step.swept.more |= size(first(&rows)?, 0)? >= limit;
        Ok(())
    }
}

/// How many were found, and what could not be read.
async fn end_in(
    session: &mut Session<'_, Link>,
    limit: usize,
) -> Result<(usize, Option<semel_core::Error>), Failure> {
    let sql = session.sql;
    let params = [count(limit), count(YOUNG)];
    let rows = session.driver.ask(&sql.ended, &params).await?;
    let (now, mut unread) = (session.now().await?, None);
    for row in &rows {
        match Stored::of(row, None) {
            Ok(stored) => end_one(session, &stored, now).await?,
            Err(error) => {
                unread.get_or_insert(error);
            }
        }
    }
    Ok((rows.len(), unread))
}

async fn end_one(
    session: &mut Session<'_, Link>,
    stored: &Stored,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(record) = &stored.record else {
        return Ok(());
    };
    let step = protocol::sweep_lease(Some(record), now);
    let ended = session.finish(&record.identity, Some(stored), step, stored.nonce, now);
    ended.await.map(drop)
}
