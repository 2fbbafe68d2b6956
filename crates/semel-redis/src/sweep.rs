//! Housekeeping: ends leases, deletes or archives what retention no longer protects, forgets old events.
//! One look at all buckets says where there is something to do; only these are touched. The processes of a store share the
//! work: the server hands out shares of it, and one that is not handed back in time to the next process that asks.

use std::time::Duration;

use futures_util::future::join_all;
use semel_core::protocol;
use semel_core::store::{BATCH_MAX, Swept};
use semel_core::{Error, Result};

use crate::engine::{Asked, Engine};
use crate::keys::{Bucket, Of};
use crate::load::Loaded;
use crate::records;
use crate::reply::{self, Reply};
use crate::script::{Call, DUE, ENDED, FORGET, RETIRE, TURN};

/// The most records that one step of the background sweep touches.
const STEP: usize = 256;
/// Into how many shares the buckets of a cluster are divided; the bucket of a single server is one.
const SHARES: usize = 16;

/// What is due in a bucket.
struct Due {
    bucket: Bucket,
    ended: usize,
    expired: usize,
    events: usize,
}

/// What a process may do next.
enum Turn {
    /// Sweep a share.
    Taken(Share),
    /// Nothing, for that long.
    Wait(Duration),
}

/// A share that was taken.
#[derive(Clone, Copy)]
struct Share {
    number: usize,
    taken_ms: i64,
}

/// Keeps what came of the calls that were answered; of the others the first error.
#[derive(Default)]
struct Failed(Option<Error>);

impl Failed {
    fn answered<T>(&mut self, results: impl IntoIterator<Item = Result<T>>) -> Vec<T> {
        let mut answered = Vec::new();
        for result in results {
            match result {
                Ok(value) => answered.push(value),
                Err(error) => {
                    self.0.get_or_insert(error);
                }
            }
        }
        answered
    }
}

impl Engine {
    /// One bounded step of housekeeping.
    pub(crate) async fn sweep(&self, limit: usize) -> Result<Swept> {
        let buckets: Vec<Bucket> = self.keys.buckets().collect();
        self.sweep_buckets(&buckets, limit.clamp(1, BATCH_MAX))
            .await
    }

    /// The same in some buckets. What fails in one keeps no other from being swept, and is reported at the end.
    async fn sweep_buckets(&self, buckets: &[Bucket], limit: usize) -> Result<Swept> {
        let mut failed = Failed::default();
        let due = self.due(buckets, &mut failed).await;
        let ended = shares(&due, limit, |due| due.ended);
        let expired = shares(&due, limit, |due| due.expired);
        let events = shares(&due, limit, |due| due.events);
        let leases_ended = self.end_leases(&ended, &mut failed).await;
        let (deleted, archived) = self.retire(&expired, &mut failed).await;
        let events_deleted = self.forget(&events, &mut failed).await;
        let total =
            |shares: &[(Bucket, usize)]| shares.iter().map(|(_, share)| share).sum::<usize>();
        let more = [ended, expired, events]
            .iter()
            .any(|shares| total(shares) >= limit);
        let swept = Swept {
            leases_ended,
            deleted,
            archived,
            events_deleted,
            more,
        };
        failed.0.map_or(Ok(swept), Err)
    }

    fn keep_ms(&self) -> u64 {
        // Scripts count in doubles; a hundred thousand years are as good as for ever.
        const FOREVER_MS: u64 = 1 << 51;
        u64::try_from(self.history_keep.as_millis())
            .unwrap_or(FOREVER_MS)
            .min(FOREVER_MS)
    }

    async fn due(&self, buckets: &[Bucket], failed: &mut Failed) -> Vec<Due> {
        let call = |bucket: &Bucket| {
            let of = [Of::Running, Of::Expiring, Of::Histories];
            Call::new(&DUE)
                .keys(of.map(|what| self.keys.of(*bucket, what)))
                .number(self.keep_ms())
        };
        let calls = buckets.iter().map(call).collect();
        let replies = self.call_apart(calls, self.link.deadline()).await;
        let due = |(bucket, reply): (&Bucket, Result<Reply>)| {
            let mut reply = reply?;
            Ok(Due {
                bucket: *bucket,
                ended: reply.number()?,
                expired: reply.number()?,
                events: reply.number()?,
            })
        };
        failed.answered(buckets.iter().zip(replies).map(due))
    }

    /// Writes down which leases have ended, by the protocol.
    async fn end_leases(&self, shares: &[(Bucket, usize)], failed: &mut Failed) -> usize {
        let deadline = self.link.deadline();
        let call = |(bucket, share): &(Bucket, usize)| {
            Call::new(&ENDED)
                .keys([self.keys.of(*bucket, Of::Running)])
                .number(share)
                .arg(self.keys.records(*bucket))
        };
        let calls = shares.iter().map(call).collect();
        let replies = self.call_apart(calls, deadline).await;
        let mut found = Vec::new();
        for ((bucket, _), reply) in shares.iter().zip(replies) {
            found.extend(failed.answered(ended_in(*bucket, reply)));
        }
        let each = found.into_iter().map(|loaded| async move {
            let Some(identity) = loaded.record().map(|record| record.identity.clone()) else {
                return Ok(false);
            };
            let verb = |loaded: &Loaded| protocol::sweep_lease(loaded.record(), loaded.now);
            let decided = self.decide(&identity, Some(loaded), Asked::until(deadline), verb);
            Ok(decided.await?.0)
        });
        let decided = join_all(each).await;
        let ended = failed.answered(decided).into_iter();
        ended.filter(|ended| *ended).count()
    }

    async fn retire(&self, shares: &[(Bucket, usize)], failed: &mut Failed) -> (usize, usize) {
        let call = |(bucket, share): &(Bucket, usize)| {
            let of = [Of::Expiring, Of::All, Of::Archived];
            Call::new(&RETIRE)
                .keys(of.map(|what| self.keys.of(*bucket, what)))
                .number(share)
                .arg(self.keys.records(*bucket))
                .arg(self.keys.archives(*bucket))
        };
        let calls = shares.iter().map(call).collect();
        let replies = self.call_apart(calls, self.link.deadline()).await;
        let counts = replies.into_iter().map(|reply| {
            let mut reply = reply?;
            Ok((reply.number::<usize>()?, reply.number::<usize>()?))
        });
        let counts = failed.answered(counts).into_iter();
        counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    async fn forget(&self, shares: &[(Bucket, usize)], failed: &mut Failed) -> usize {
        let call = |(bucket, share): &(Bucket, usize)| {
            Call::new(&FORGET)
                .keys([Of::Histories, Of::Meta].map(|what| self.keys.of(*bucket, what)))
                .number(share)
                .number(self.keep_ms())
                .arg(self.keys.records(*bucket))
                .arg(self.keys.histories(*bucket))
                .arg(self.keys.lates(*bucket))
        };
        let calls = shares.iter().map(call).collect();
        let replies = self.call_apart(calls, self.link.deadline()).await;
        let counts = replies.into_iter().map(|reply| reply?.number::<usize>());
        failed.answered(counts).into_iter().sum()
    }

    /// Sweeps for ever, such that all processes together sweep everything every `interval`.
    pub(crate) async fn sweep_every(&self, interval: Duration) {
        let mut wait = interval;
        loop {
            tokio::time::sleep(wait).await;
            wait = self.take_turns(interval).await;
        }
    }

    /// Sweeps one share after another until none is due; says how long none is.
    async fn take_turns(&self, interval: Duration) -> Duration {
        let mut last = None;
        loop {
            match self.turn(interval, last).await {
                Ok(Turn::Taken(share)) => {
                    let more = self.sweep_step(share.number).await;
                    last = Some((share, more));
                }
                // However many shares and processes there are, each asks a few times per interval only.
                Ok(Turn::Wait(left)) => {
                    self.tell_of_others(last.is_none());
                    return left.clamp(interval / 4, interval);
                }
                Err(_) => {
                    // A server without memory cannot say whose turn it is, and must be swept all the same.
                    let all = (0..self.shares_count())
                        .map(|share| async move { while self.sweep_step(share).await {} });
                    join_all(all).await;
                    return interval;
                }
            }
        }
    }

    /// One step of a share, which those who watch hear of; whether there is more to do. A store that cannot answer now is
    /// swept next time; callers hear of it by themselves.
    async fn sweep_step(&self, share: usize) -> bool {
        let swept = self.sweep_buckets(&self.buckets_of(share), STEP).await;
        if let Some(watch) = &self.watch {
            watch.swept_share(share, swept.as_ref());
        }
        matches!(swept, Ok(swept) if swept.more)
    }

    /// Who watches hears that the sweep goes on although this process found no share to take.
    fn tell_of_others(&self, all_elsewhere: bool) {
        if let Some(watch) = self.watch.as_ref().filter(|_| all_elsewhere) {
            watch.swept_elsewhere();
        }
    }

    async fn turn(&self, interval: Duration, swept: Option<(Share, bool)>) -> Result<Turn> {
        let mut call = Call::new(&TURN)
            .keys([self.keys.shares()])
            .number(self.shares_count())
            .number(interval.as_millis())
            .number(self.link.timeout().as_millis() * 2);
        if let Some((share, more)) = swept {
            call = call.number(share.number).number(share.taken_ms);
            call = call.arg(if more { "1" } else { "" });
        }
        let mut reply = self.call(call, self.link.deadline()).await?;
        match reply.word.as_str() {
            "taken" => Ok(Turn::Taken(Share {
                number: reply.number()?,
                taken_ms: reply.number()?,
            })),
            "wait" => Ok(Turn::Wait(Duration::from_millis(reply.number()?))),
            _ => Err(reply::unexpected()),
        }
    }

    fn shares_count(&self) -> usize {
        self.keys.count().min(SHARES)
    }

    fn buckets_of(&self, share: usize) -> Vec<Bucket> {
        let buckets = self.keys.buckets().skip(share);
        buckets.step_by(self.shares_count()).collect()
    }
}

/// The records of a bucket whose lease has ended.
fn ended_in(bucket: Bucket, reply: Result<Reply>) -> Vec<Result<Loaded>> {
    let mut reply = match reply {
        Ok(reply) => reply,
        Err(error) => return vec![Err(error)],
    };
    let now = reply.now;
    let record = |value| {
        let bytes = reply::bytes(value)?.ok_or_else(reply::unexpected)?;
        let stored = Some(records::decode_found(bytes, bucket)?);
        Ok(Loaded { stored, now })
    };
    std::iter::from_fn(|| reply.next()).map(record).collect()
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
