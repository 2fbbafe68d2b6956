//! Many connections, one request in flight on each: how many right answers came back, and how soon.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tokio::task::JoinSet;

use super::connection::{Connection, Target};
use super::head::Head;
use super::request::{PAYMENT, Request};
use super::solo;
use crate::latency::Latencies;
use crate::load::Measured;
use crate::sample::mix;
use crate::timing::Stopwatch;

const CREATED: u16 = 201;
/// How long the last answers of a turn may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The keys that were settled so far: the numbers below a mark.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    seed: u64,
    next: Arc<AtomicU64>,
}

impl Keys {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed: mix(seed),
            next: Arc::default(),
        }
    }
}

/// What each request is.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// It has no key.
    Unguarded,
    /// Its key was never seen before.
    First(Keys),
    /// Its key was settled in an earlier turn, each as likely as any other.
    Replay(Keys),
}

/// When a turn ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// So long after it began.
    Elapsed(Duration),
    /// When each connection has had so many answers.
    Answers(u64),
}

impl Until {
    /// One limit for the whole turn costs nothing; one per request would cost a timer each.
    fn at_most(self) -> Duration {
        match self {
            Self::Elapsed(turn) => turn + ANSWER_MAX,
            Self::Answers(_) => ANSWER_MAX,
        }
    }
}

/// One turn: what is asked of whom, by how many, for how long.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) target: Target,
    pub(super) work: Work,
    pub(super) connections: usize,
    pub(super) until: Until,
}

impl Load {
    /// Asks until the turn ends. The first wrong answer ends it too, because its figures would mean nothing.
    pub(super) async fn drive(self) -> Result<Measured> {
        solo::run(|| self.on_this_thread()).await
    }

    async fn on_this_thread(self) -> Result<Measured> {
        let mut callers = Vec::new();
        for caller in 0..self.connections as u64 {
            let connection = Connection::open(self.target).await?;
            callers.push(Caller::new(&self, connection, caller));
        }
        let clock = Stopwatch::start();
        let mut tasks: JoinSet<_> = callers
            .into_iter()
            .map(|caller| caller.repeat(clock, self.until))
            .collect();
        let all = tokio::time::timeout(self.until.at_most(), merged(&mut tasks))
            .await
            .map_err(|_| self.target.failed("answer within 30 s"))??;
        Ok(Measured::of(&all, clock.elapsed()))
    }
}

async fn merged(tasks: &mut JoinSet<Result<Latencies>>) -> Result<Latencies> {
    let mut all = Latencies::new();
    while let Some(finished) = tasks.join_next().await {
        let crashed = |e| Error::new(Kind::Internal, "a caller panicked").caused_by(e);
        all.merge(&finished.map_err(crashed)??);
    }
    Ok(all)
}

/// One connection and what is sent over it.
struct Caller {
    target: Target,
    connection: Connection,
    request: Request,
    work: Work,
    /// How many keys were settled when the turn began.
    settled: u64,
    /// Where this caller is in its own sequence of draws.
    draw: u64,
}

impl Caller {
    fn new(load: &Load, connection: Connection, number: u64) -> Self {
        let host = load.target.address;
        let (request, settled) = match &load.work {
            Work::Unguarded => (Request::unguarded(host, PAYMENT), 0),
            Work::First(keys) | Work::Replay(keys) => (
                Request::guarded(host, PAYMENT),
                keys.next.load(Ordering::Relaxed),
            ),
        };
        Self {
            target: load.target,
            connection,
            request,
            work: load.work.clone(),
            settled,
            draw: mix(number + 1),
        }
    }

    async fn repeat(mut self, clock: Stopwatch, until: Until) -> Result<Latencies> {
        let mut latencies = Latencies::new();
        let mut before = clock.elapsed();
        // Each caller asks at least once, so that no figure is zero, and waits for its last answer, so
        // that every key it drew is settled.
        loop {
            self.ask().await?;
            // One look at the clock ends this request and begins the next.
            let now = clock.elapsed();
            latencies.record(now - before);
            before = now;
            let is_over = match until {
                Until::Elapsed(turn) => now >= turn,
                Until::Answers(answers) => latencies.count() >= answers,
            };
            if is_over {
                return Ok(latencies);
            }
        }
    }

    async fn ask(&mut self) -> Result<()> {
        let request = match &self.work {
            Work::Unguarded => self.request.bytes(),
            Work::First(keys) => {
                let number = keys.next.fetch_add(1, Ordering::Relaxed);
                self.request.keyed(keys.seed, number)
            }
            Work::Replay(keys) => {
                self.draw = mix(self.draw.wrapping_add(1));
                let number = self.draw % self.settled.max(1);
                self.request.keyed(keys.seed, number)
            }
        };
        let head = self.connection.ask(request).await?;
        let (expected, is_replay) = match &self.work {
            Work::Unguarded | Work::First(_) => ("201 that is no replay", false),
            Work::Replay(_) => ("201 as a replay", true),
        };
        match is_right(head, is_replay) {
            true => Ok(()),
            false => Err(self.target.wrong(expected, head)),
        }
    }
}

fn is_right(head: Head, is_replay: bool) -> bool {
    head.status == Some(CREATED) && head.is_replay == is_replay && head.body_bytes.is_some()
}
