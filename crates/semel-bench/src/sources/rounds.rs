//! The turns at one broker, round after round.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use semel_core::Result;
use semel_core::inbox::Inbox;

use super::bare::{self, Bare, within};
use super::letters::{Published, letters};
use super::ours::{Way, through};
use super::{Broker, SourceOptions};
use crate::inbox::Scratch;
use crate::load::Measured;
use crate::machine::io;

/// How much smaller the round is that warms everything up.
const WARM_UP: usize = 5;

/// One broker with messages in it, and an inbox for them.
pub(super) struct Bench<'a> {
    options: &'a SourceOptions,
    /// How many brokers came before.
    place: usize,
    broker: Broker,
    name: String,
    letters: Vec<Published>,
    bare: Box<dyn Bare>,
    inbox: Arc<dyn Inbox>,
    turns: AtomicU64,
}

/// What one round measured.
pub(super) struct Round {
    pub(super) receive: Measured,
    /// Messages per second.
    pub(super) end_to_end: f64,
    pub(super) bare: f64,
}

impl<'a> Bench<'a> {
    pub(super) async fn open(
        options: &'a SourceOptions,
        place: usize,
        broker: Broker,
        address: &str,
        scratch: &Path,
    ) -> Result<Self> {
        // The directory has a name that nothing else has; what is made at the broker has it too.
        let name = scratch.file_name().unwrap_or_default().to_string_lossy();
        let dir = scratch.join(place.to_string());
        std::fs::create_dir(&dir).map_err(io("making a directory for the benchmark"))?;
        let [inbox, ..] = Scratch::NAMES;
        let inbox = (options.open)(Scratch { dir, name: inbox }).await?;
        Ok(Self {
            options,
            place,
            broker,
            letters: letters(broker.messages(options.messages)),
            bare: within("connecting", bare::connect(broker, address, &name)).await?,
            name: name.into_owned(),
            inbox,
            turns: AtomicU64::new(0),
        })
    }

    /// Fills the broker, warms up with a round that does not count, and then takes the turns.
    pub(super) async fn rounds(&self) -> Result<Vec<Round>> {
        self.step(0, "filling");
        within("filling", self.bare.fill(&self.letters)).await?;
        self.round(self.letters.len().div_ceil(WARM_UP), true)
            .await?;
        let mut rounds = Vec::new();
        for i in 0..self.options.rounds {
            let what = format!("round {} of {}", i + 1, self.options.rounds);
            self.step(i + 1, &what);
            rounds.push(self.round(self.letters.len(), i % 2 == 0).await?);
        }
        Ok(rounds)
    }

    /// Removes what was made at the broker.
    pub(super) async fn close(self) -> Result<()> {
        within("cleaning up", self.bare.clean()).await
    }

    fn step(&self, done: usize, what: &str) {
        let each = self.options.rounds + 1;
        let total = each * self.options.brokers.len();
        let (done, what) = (self.place * each + done, format!("{}: {what}", self.broker));
        self.options.progress.step(done as u64, total as u64, &what);
    }

    async fn round(&self, count: usize, forwards: bool) -> Result<Round> {
        let (receive, end_to_end, bare);
        if forwards {
            receive = self.ours(Way::Receive, count).await?;
            bare = self.bare(count).await?;
            end_to_end = self.ours(Way::EndToEnd, count).await?;
        } else {
            end_to_end = self.ours(Way::EndToEnd, count).await?;
            bare = self.bare(count).await?;
            receive = self.ours(Way::Receive, count).await?;
        }
        Ok(Round {
            receive,
            end_to_end: end_to_end.per_second,
            bare,
        })
    }

    async fn ours(&self, way: Way, count: usize) -> Result<Measured> {
        let turn = self.begin(count).await?;
        let source = (self.options.open_source)(&self.bare.url(&turn), &turn)?;
        let measured = through(&self.inbox, source, &turn, way, count).await;
        self.bare.end(&turn).await?;
        measured
    }

    async fn bare(&self, count: usize) -> Result<f64> {
        let turn = self.begin(count).await?;
        let took = within("a bare turn", self.bare.drain(&turn, count)).await;
        self.bare.end(&turn).await?;
        Ok(count as f64 / took?.as_secs_f64())
    }

    /// A name that no other turn has, with the first `count` messages behind it.
    async fn begin(&self, count: usize) -> Result<String> {
        let number = self.turns.fetch_add(1, Ordering::Relaxed);
        let turn = format!("{}-{number}", self.name);
        let begun = within("filling", self.bare.begin(&turn, &self.letters[..count])).await;
        if begun.is_err() {
            // What it left half-made; that it could not be made is the error that counts.
            let _ = self.bare.end(&turn).await;
        }
        begun.map(|()| turn)
    }
}
