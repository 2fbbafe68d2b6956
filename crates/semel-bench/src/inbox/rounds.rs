//! The turns: ours, the baseline, and ours among parked messages, round after round.

use std::path::Path;
use std::sync::Arc;

use semel_core::Result;
use semel_core::inbox::Inbox;

use super::flow::{through_engine, through_workers};
use super::options::{InboxOptions, Scratch};
use super::ours::Ours;
use super::parking::park;
use super::side::Side;
use crate::load::Measured;
use crate::machine::io;

/// Of the messages of a turn, those that wait when they are dealt with one at a time.
const ONE_AT_A_TIME: usize = 5;

/// An inbox, one with parked messages, and what they are compared to.
pub(crate) struct Bench<'a> {
    options: &'a InboxOptions,
    inbox: Arc<dyn Inbox>,
    ours: Side,
    parked: Option<Side>,
    raw: Side,
}

/// What one round measured.
pub(crate) struct Round {
    pub(crate) receive: Measured,
    pub(crate) receive_raw: Measured,
    pub(crate) deal: Measured,
    pub(crate) deal_raw: Measured,
    pub(crate) deal_parked: Option<Measured>,
    pub(crate) single: Measured,
    pub(crate) single_raw: Measured,
    /// Messages per second from end to end.
    pub(crate) flow: f64,
    pub(crate) flow_raw: f64,
}

/// Which turn comes first: neither side always should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Ours,
    Raw,
}

impl<'a> Bench<'a> {
    pub(crate) async fn open(options: &'a InboxOptions, scratch: &Path) -> Result<Self> {
        let [plain, crowded, raw] = Scratch::NAMES;
        let ours = inbox(options, place(scratch, plain)?).await?;
        let parked = match options.parked {
            0 => None,
            _ => {
                let ours = inbox(options, place(scratch, crowded)?).await?;
                let side = Side::new(ours.clone(), 2);
                park(&ours, &side, options).await?;
                Some(side)
            }
        };
        let raw = (options.open_raw)(place(scratch, raw)?).await?;
        Ok(Self {
            options,
            inbox: ours.inbox().clone(),
            ours: Side::new(ours, 1),
            parked,
            raw: Side::new(raw, 3),
        })
    }

    /// What the baseline is called.
    pub(crate) fn baseline(&self) -> &str {
        self.raw.name()
    }

    /// Warms up with a round that does not count, and then takes the turns.
    pub(crate) async fn rounds(&self) -> Result<Vec<Round>> {
        let total = self.options.rounds as u64 + 1;
        self.options.progress.step(0, total, "warming up");
        self.round(First::Ours).await?;
        let mut rounds = Vec::new();
        for i in 0..self.options.rounds {
            let what = format!("round {} of {}", i + 1, self.options.rounds);
            self.options.progress.step(i as u64 + 1, total, &what);
            let first = match i % 2 {
                0 => First::Ours,
                _ => First::Raw,
            };
            rounds.push(self.round(first).await?);
        }
        Ok(rounds)
    }

    /// All queues are empty before and after.
    async fn round(&self, first: First) -> Result<Round> {
        let (receive, receive_raw) = self.receive(first).await?;
        self.empty().await?;
        let (deal_parked, deal, deal_raw) = self.deal_batches(first).await?;
        let (single, single_raw) = self.deal_singly(first).await?;
        self.empty().await?;
        let (flow, flow_raw) = self.flow(first).await?;
        Ok(Round {
            receive,
            receive_raw,
            deal,
            deal_raw,
            deal_parked,
            single,
            single_raw,
            flow,
            flow_raw,
        })
    }

    async fn empty(&self) -> Result<()> {
        for side in self.parked.iter().chain([&self.ours, &self.raw]) {
            side.empty().await?;
        }
        Ok(())
    }

    async fn receive(&self, first: First) -> Result<(Measured, Measured)> {
        let Self { ours, raw, .. } = self;
        let options = self.options;
        Ok(match first {
            First::Ours => (ours.receive(options).await?, raw.receive(options).await?),
            First::Raw => swap(raw.receive(options).await?, ours.receive(options).await?),
        })
    }

    async fn deal_batches(&self, first: First) -> Result<(Option<Measured>, Measured, Measured)> {
        let (parked, plain, by_hand);
        match first {
            First::Ours => {
                parked = self.deal_parked().await?;
                plain = self.deal(&self.ours).await?;
                by_hand = self.deal(&self.raw).await?;
            }
            First::Raw => {
                by_hand = self.deal(&self.raw).await?;
                plain = self.deal(&self.ours).await?;
                parked = self.deal_parked().await?;
            }
        }
        Ok((parked, plain, by_hand))
    }

    async fn deal_singly(&self, first: First) -> Result<(Measured, Measured)> {
        let (ours, raw) = (self.one_by_one(&self.ours), self.one_by_one(&self.raw));
        Ok(match first {
            First::Ours => (ours.await?, raw.await?),
            First::Raw => swap(raw.await?, ours.await?),
        })
    }

    async fn flow(&self, first: First) -> Result<(f64, f64)> {
        (self.options.rest)().await?;
        let engine = through_engine(&self.inbox, &self.ours, self.options);
        let workers = through_workers(&self.raw, self.options);
        Ok(match first {
            First::Ours => (engine.await?, workers.await?),
            First::Raw => swap(workers.await?, engine.await?),
        })
    }

    async fn deal(&self, side: &Side) -> Result<Measured> {
        let InboxOptions {
            messages, batch, ..
        } = self.options;
        self.deal_with(side, *messages, *batch).await
    }

    async fn one_by_one(&self, side: &Side) -> Result<Measured> {
        let waiting = self.options.messages / ONE_AT_A_TIME;
        self.deal_with(side, waiting, 1).await
    }

    /// Each side is filled just before its own turn, so that all of them begin with what a fill leaves to write behind.
    async fn deal_with(&self, side: &Side, waiting: usize, batch: usize) -> Result<Measured> {
        side.fill(waiting).await?;
        (self.options.rest)().await?;
        side.deal(self.options, batch).await
    }

    async fn deal_parked(&self) -> Result<Option<Measured>> {
        match &self.parked {
            Some(side) => self.deal(side).await.map(Some),
            None => Ok(None),
        }
    }
}

fn swap<T>(raw: T, ours: T) -> (T, T) {
    (ours, raw)
}

fn place(scratch: &Path, name: &'static str) -> Result<Scratch> {
    let dir = scratch.join(name);
    let made = std::fs::create_dir(&dir);
    made.map_err(io("making a directory for the benchmark"))?;
    Ok(Scratch { dir, name })
}

async fn inbox(options: &InboxOptions, place: Scratch) -> Result<Arc<Ours>> {
    let inbox = (options.open)(place).await?;
    Ok(Arc::new(Ours::new(inbox)?))
}
