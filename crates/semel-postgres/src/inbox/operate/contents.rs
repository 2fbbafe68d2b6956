//! Replays and erasures meet in messages without work: what one of them decides by, the other may be changing.

use std::collections::{HashMap, HashSet};

use semel_core::Result;
use semel_core::inbox::Action;
use uuid::Uuid;

use super::super::rows::Work;
use super::select::Selected;
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

/// A message: its digest, and the end of its retention.
type Place = (Uuid, i64);

/// What is seen of a message under its lock.
struct Seen {
    is_erased: bool,
    is_superseded: bool,
}

impl<D: Driver> Session<'_, D> {
    /// Locks the messages whose contents an operation needs or erases, and looks again at what another operation has left of them.
    pub(super) async fn look_again(
        &mut self,
        action: Action,
        selected: &mut [Selected],
        locked: &HashMap<Uuid, Work>,
    ) -> Result<(), D::Error> {
        let of_contents = matches!(action, Action::Replay { .. } | Action::EraseContents);
        if !of_contents || selected.is_empty() {
            return Ok(());
        }
        let seen = self.lock_messages(selected).await?;
        // Asked by a statement of its own, which sees what the locks were waited for.
        let working = self.working(selected).await?;
        for one in selected.iter_mut().filter(|one| !one.is_gone) {
            let Some(seen) = seen.get(&one.place()) else {
                one.is_overtaken = true;
                continue;
            };
            let is_locked = locked.get(&one.digest).is_some_and(|work| one.owns(work));
            one.is_overtaken = !is_locked && working.contains(&one.place());
            (one.is_erased, one.is_superseded) = (seen.is_erased, seen.is_superseded);
        }
        Ok(())
    }

    async fn lock_messages(
        &mut self,
        selected: &[Selected],
    ) -> Result<HashMap<Place, Seen>, D::Error> {
        let params = vec![
            Value::Uuids(selected.iter().map(|one| one.digest).collect()),
            Value::ints(selected.iter().map(|one| one.expires_ms)),
        ];
        let rows = self
            .driver
            .rows(&self.sql.inbox.lock_messages, params)
            .await?;
        let seen = |row: &Row| {
            let seen = Seen {
                is_erased: row.number(2)? != 0,
                is_superseded: row.number(3)? != 0,
            };
            Ok(((row.digest(0)?, row.number(1)?), seen))
        };
        Ok(rows.iter().map(seen).collect::<Result<_>>()?)
    }

    async fn working(&mut self, selected: &[Selected]) -> Result<HashSet<Place>, D::Error> {
        let digests = selected.iter().map(|one| one.digest).collect();
        let params = vec![Value::Uuids(digests)];
        let rows = self.driver.rows(&self.sql.inbox.working, params).await?;
        let place = |row: &Row| Ok((row.digest(0)?, row.number(1)?));
        Ok(rows.iter().map(place).collect::<Result<_>>()?)
    }
}
