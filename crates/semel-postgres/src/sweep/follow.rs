//! After the claims: what is open is noted, and all records are divided into ranges.

use super::{RANGE, Step, count, first, size, walk};
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::sql_ms;
use crate::value::Value;

/// The most ranges that one step makes.
const PIECES: usize = 16;

impl Engine {
    /// Keeps up with the claims, unless another process does so at this moment.
    pub(super) async fn follow(&self, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        for _ in 0..PIECES {
            let piece = self.pace.records();
            link.begin().await?;
            let followed = self.follow_in(link, piece).await;
            match link.end(followed).await {
                Ok(followed) if followed < piece => return Ok(()),
                Ok(_) => {}
                Err(failure) => {
                    self.pace.slower();
                    return Err(failure);
                }
            }
        }
        step.swept.more = true;
        Ok(())
    }

    async fn follow_in(&self, link: &mut Link, piece: usize) -> Result<usize, Failure> {
        let rows = link.ask(&self.sql.turn, &[]).await?;
        if first(&rows)?.number(0)? == 0 {
            return Ok(0);
        }
        let params = [
            count(piece),
            count(RANGE),
            Value::int(sql_ms(walk::AGAIN_FIRST)),
        ];
        let rows = link.ask(&self.sql.follow, &params).await?;
        Ok(rows.first().map_or(Ok(0), |row| size(row, 0))?)
    }
}
