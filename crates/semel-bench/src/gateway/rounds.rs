//! The turns: the gateway in its three uses, the plain proxies, and the upstream by itself, round after round.

use std::time::Duration;

use semel_core::Result;

use super::connection::Target;
use super::field::Field;
use super::load::{Keys, Load, Until, Work};
use crate::load::Measured;
use crate::progress::Progress;

/// Answers per connection and turn that warm everything up, and leave keys to replay.
const WARM_UP: Until = Until::Answers(100);

/// What a turn measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The upstream, nothing in between: the most that this load can show.
    Direct,
    /// The minimal hyper proxy.
    HyperProxy,
    /// The gateway, requests without a key.
    Unguarded,
    /// nginx.
    Nginx,
    /// The gateway, a new key with each request.
    First,
    /// The gateway, keys that are settled.
    Replay,
}

/// Each of ours stands beside what it is compared to; every other round goes backwards, so that neither
/// always comes first.
const ORDER: [Side; 6] = [
    Side::Direct,
    Side::HyperProxy,
    Side::Unguarded,
    Side::Nginx,
    Side::First,
    Side::Replay,
];

/// What one round measured.
#[derive(Debug)]
pub(super) struct Round(Vec<(Side, Measured)>);

impl Round {
    pub(super) fn of(&self, side: Side) -> &Measured {
        let found = self.0.iter().find(|(one, _)| *one == side);
        &found.expect("a round has a turn of every side").1
    }
}

/// Where the load goes, and how much of it.
pub(super) struct Rounds<'a> {
    pub(super) field: Field,
    pub(super) keys: Keys,
    pub(super) connections: usize,
    /// Between two turns, so that what one leaves behind (a checkpoint, closing connections) is not charged to the next.
    pub(super) breath: Duration,
    pub(super) progress: &'a dyn Progress,
}

impl Rounds<'_> {
    /// Warms up, and then takes the turns.
    pub(super) async fn take(&self, rounds: usize, until: Until) -> Result<Vec<Round>> {
        let total = rounds as u64 + 1;
        self.progress.step(0, total, "warming up");
        self.round(WARM_UP, false).await?;
        let mut taken = Vec::new();
        for i in 0..rounds {
            let what = format!("round {} of {rounds}", i + 1);
            self.progress.step(i as u64 + 1, total, &what);
            taken.push(self.round(until, i % 2 == 1).await?);
        }
        Ok(taken)
    }

    async fn round(&self, until: Until, backwards: bool) -> Result<Round> {
        let mut order = ORDER;
        if backwards {
            order.reverse();
        }
        let mut turns = Vec::new();
        for side in order {
            turns.push((side, self.turn(side, until).await?));
            tokio::time::sleep(self.breath).await;
        }
        Ok(Round(turns))
    }

    async fn turn(&self, side: Side, until: Until) -> Result<Measured> {
        let (target, work) = self.part(side);
        let load = Load {
            target,
            work,
            connections: self.connections,
            until,
        };
        load.drive().await
    }

    fn part(&self, side: Side) -> (Target, Work) {
        let keys = || self.keys.clone();
        match side {
            Side::Direct => (self.field.upstream, Work::Unguarded),
            Side::HyperProxy => (self.field.hyper_proxy, Work::Unguarded),
            Side::Nginx => (self.field.nginx, Work::Unguarded),
            Side::Unguarded => (self.field.gateway, Work::Unguarded),
            Side::First => (self.field.gateway, Work::First(keys())),
            Side::Replay => (self.field.gateway, Work::Replay(keys())),
        }
    }
}
