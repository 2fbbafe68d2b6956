//! The space of records that the sweep has deleted.
//!
//! Autovacuum looks at a table once a minute by default. That is long where ten thousand records are deleted in a second: the table
//! grows to what a minute of claims takes. The background sweep therefore vacuums by itself after many deletions. A table that is
//! too large for that within one statement's time is left to autovacuum, for which a minute is short.

use std::time::Duration;

use semel_core::store::Swept;
use tokio::time::Instant;

use crate::connection::Failure;
use crate::engine::Engine;
use crate::sql;

/// So many deletions make a vacuum worth its while.
const DELETED_MIN: usize = 65_536;
/// After a vacuum that did not end in time, autovacuum is relied on for so long.
const REST: Duration = Duration::from_secs(600);
/// Who holds the table is not waited for, and the file is not cut, because that would lock it.
const VACUUM: &str = "VACUUM (SKIP_LOCKED, TRUNCATE false) {s}semel_records";

/// How much this process has deleted since it vacuumed.
#[derive(Debug, Default)]
pub(super) struct Vacuum {
    deleted: usize,
    rests_until: Option<Instant>,
}

impl Vacuum {
    /// Vacuums if enough was deleted.
    pub(super) async fn after(&mut self, engine: &Engine, swept: &Swept) {
        self.deleted += swept.deleted + swept.archived;
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        if rests || self.deleted < DELETED_MIN {
            return;
        }
        self.deleted = 0;
        if engine.vacuum().await.is_err() {
            self.rests_until = Some(Instant::now() + REST);
        }
    }
}

impl Engine {
    async fn vacuum(&self) -> Result<(), Failure> {
        let mut link = self.links.get().await?;
        link.run(&sql::text(&self.schema, VACUUM)).await
    }
}
