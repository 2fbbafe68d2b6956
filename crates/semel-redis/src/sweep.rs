//! Housekeeping: ends leases, deletes or archives what retention no longer protects, forgets old events.
//! One look at all buckets says where there is something to do; only these are touched.

use std::time::Duration;

use futures_util::future::join_all;
use semel_core::Result;
use semel_core::protocol;
use semel_core::store::{BATCH_MAX, Swept};

use crate::codec;
use crate::engine::{Asked, Engine, Loaded};
use crate::keys::{Bucket, Of};
use crate::reply;
use crate::script::{Call, DUE, ENDED, FORGET, RETIRE};

/// The most records that one step of the background sweep touches.
const STEP: usize = 256;

/// What is due in a bucket.
struct Due {
    bucket: Bucket,
    ended: usize,
    expired: usize,
    events: usize,
}

impl Engine {
    /// One bounded step of housekeeping.
    pub(crate) async fn sweep(&self, limit: usize) -> Result<Swept> {
        let limit = limit.clamp(1, BATCH_MAX);
        let due = self.due().await?;
        let ended = shares(&due, limit, |due| due.ended);
        let expired = shares(&due, limit, |due| due.expired);
        let events = shares(&due, limit, |due| due.events);
        let leases_ended = self.end_leases(&ended).await?;
        let (deleted, archived) = self.retire(&expired).await?;
        let events_deleted = self.forget(&events).await?;
        let total =
            |shares: &[(Bucket, usize)]| shares.iter().map(|(_, share)| share).sum::<usize>();
        let more = [ended, expired, events]
            .iter()
            .any(|shares| total(shares) >= limit);
        Ok(Swept {
            leases_ended,
            deleted,
            archived,
            events_deleted,
            more,
        })
    }

    fn keep_ms(&self) -> u64 {
        // Scripts count in doubles; a hundred thousand years are as good as for ever.
        const FOREVER_MS: u64 = 1 << 51;
        u64::try_from(self.history_keep.as_millis())
            .unwrap_or(FOREVER_MS)
            .min(FOREVER_MS)
    }

    async fn due(&self) -> Result<Vec<Due>> {
        let call = |bucket| {
            let of = [Of::Running, Of::Expiring, Of::Histories];
            Call::new(&DUE)
                .keys(of.map(|what| self.keys.of(bucket, what)))
                .number(self.keep_ms())
        };
        let calls = self.keys.buckets().map(call).collect();
        let replies = self.call_each(calls, self.link.deadline()).await?;
        let due = |(bucket, mut reply): (Bucket, reply::Reply)| {
            let (ended, expired, events) = (reply.number()?, reply.number()?, reply.number()?);
            Ok(Due {
                bucket,
                ended,
                expired,
                events,
            })
        };
        self.keys.buckets().zip(replies).map(due).collect()
    }

    /// Writes down which leases have ended, by the protocol.
    async fn end_leases(&self, shares: &[(Bucket, usize)]) -> Result<usize> {
        let deadline = self.link.deadline();
        let call = |(bucket, share): &(Bucket, usize)| {
            Call::new(&ENDED)
                .keys([self.keys.of(*bucket, Of::Running)])
                .number(share)
                .arg(self.keys.records(*bucket))
        };
        let mut found = Vec::new();
        let replies = self
            .call_each(shares.iter().map(call).collect(), deadline)
            .await?;
        for ((bucket, _), mut reply) in shares.iter().zip(replies) {
            while let Some(bytes) = reply.bytes()? {
                found.push(Loaded {
                    stored: Some(codec::decode_found(bytes, *bucket)?),
                    now: reply.now,
                });
            }
        }
        let each = found.into_iter().map(|loaded| async move {
            let Some(identity) = loaded.record().map(|record| record.identity.clone()) else {
                return Ok(false);
            };
            let verb = |loaded: &Loaded| protocol::sweep_lease(loaded.record(), loaded.now);
            let decided = self.decide(&identity, Some(loaded), Asked::until(deadline), verb);
            Ok(decided.await?.0)
        });
        let ended: Result<Vec<bool>> = join_all(each).await.into_iter().collect();
        Ok(ended?.into_iter().filter(|ended| *ended).count())
    }

    async fn retire(&self, shares: &[(Bucket, usize)]) -> Result<(usize, usize)> {
        let call = |(bucket, share): &(Bucket, usize)| {
            let of = [Of::Expiring, Of::All, Of::Archived];
            Call::new(&RETIRE)
                .keys(of.map(|what| self.keys.of(*bucket, what)))
                .number(share)
                .arg(self.keys.records(*bucket))
                .arg(self.keys.archives(*bucket))
        };
        let (mut deleted, mut archived) = (0, 0);
        let calls = shares.iter().map(call).collect();
        for mut reply in self.call_each(calls, self.link.deadline()).await? {
            deleted += reply.number::<usize>()?;
            archived += reply.number::<usize>()?;
        }
        Ok((deleted, archived))
    }

    async fn forget(&self, shares: &[(Bucket, usize)]) -> Result<usize> {
        let call = |(bucket, share): &(Bucket, usize)| {
            Call::new(&FORGET)
                .keys([Of::Histories, Of::Meta].map(|what| self.keys.of(*bucket, what)))
                .number(share)
                .number(self.keep_ms())
                .arg(self.keys.records(*bucket))
                .arg(self.keys.histories(*bucket))
                .arg(self.keys.lates(*bucket))
        };
        let mut deleted = 0;
        let calls = shares.iter().map(call).collect();
        for mut reply in self.call_each(calls, self.link.deadline()).await? {
            deleted += reply.number::<usize>()?;
        }
        Ok(deleted)
    }

    /// Sweeps every `interval`, for ever.
    pub(crate) async fn sweep_every(&self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            loop {
                let swept = self.sweep(STEP).await;
                if let Some(watch) = &self.watch {
                    watch.swept(swept.as_ref());
                }
                // A store that cannot answer now is swept next time; callers hear of it by themselves.
                if !matches!(swept, Ok(swept) if swept.more) {
                    break;
                }
            }
        }
    }
}

/// How much of `limit` each bucket gets that has something due.
fn shares(due: &[Due], limit: usize, count: impl Fn(&Due) -> usize) -> Vec<(Bucket, usize)> {
    let mut left = limit;
    let mut shares = Vec::new();
    for due in due {
        let share = count(due).min(left);
        if share > 0 {
            shares.push((due.bucket, share));
            left -= share;
        }
    }
    shares
}
