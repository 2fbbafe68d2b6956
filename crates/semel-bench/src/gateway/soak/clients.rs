//! The clients of a soak: how many of each kind, and until when.

use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tokio::task::JoinSet;

use super::super::connection::Target;
use super::tally::Tally;
use super::{polite, rude};
use crate::sample::mix;
use crate::timing::Stopwatch;

/// Each rude kind is an eighth of all, and no more than this: each of their acts leaves a port behind that the
/// machine takes a minute to forget.
const RUDE_MAX: usize = 8;
/// How long the last clients may take when the time is over.
const FINISH_MAX: Duration = Duration::from_secs(60);

/// Who works, on whom, for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clients {
    pub(super) gateway: Target,
    pub(super) connections: usize,
    pub(super) length: Duration,
}

/// One client: whom it asks, which keys are its own, and until when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    pub(super) gateway: Target,
    pub(super) seed: u64,
    clock: Stopwatch,
    length: Duration,
}

impl Client {
    pub(super) fn is_over(&self) -> bool {
        self.clock.elapsed() >= self.length
    }
}

impl Clients {
    /// Lets them all work to the end, or to the first wrong answer.
    pub(super) async fn work(self) -> Result<Tally> {
        let clock = Stopwatch::start();
        let rude = (self.connections / 8).clamp(1, RUDE_MAX);
        let polite = self.connections.saturating_sub(3 * rude).max(1);
        let mut seeds = (1..).map(mix);
        let mut client = || Client {
            gateway: self.gateway,
            seed: seeds.next().unwrap_or_default(),
            clock,
            length: self.length,
        };
        let mut tasks = JoinSet::new();
        for _ in 0..rude {
            tasks.spawn(rude::slow(client()));
            tasks.spawn(rude::aborting(client()));
            tasks.spawn(rude::disconnecting(client()));
        }
        for _ in 0..polite {
            tasks.spawn(polite::polite(client()));
        }
        tokio::time::timeout(self.length + FINISH_MAX, merged(&mut tasks))
            .await
            .map_err(|_| {
                self.gateway
                    .failed("answer its last clients within a minute")
            })?
    }
}

async fn merged(tasks: &mut JoinSet<Result<Tally>>) -> Result<Tally> {
    let mut all = Tally::default();
    while let Some(finished) = tasks.join_next().await {
        let crashed = |e| Error::new(Kind::Internal, "a client panicked").caused_by(e);
        all.merge(&finished.map_err(crashed)??);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::super::stub;
    use super::super::tally::Act;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn clients_of_every_kind_do_their_acts() {
        let clients = Clients {
            gateway: Target {
                name: "the stub",
                address: stub::start().await,
            },
            connections: 4,
            length: Duration::from_millis(20),
        };
        let done = clients.work().await.unwrap();
        for act in [
            Act::First,
            Act::Slow,
            Act::Abort,
            Act::Disconnect,
            Act::Retry,
        ] {
            assert!(done.get(act) > 0, "{}", act.name());
        }
    }
}
