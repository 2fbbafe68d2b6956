//! What to measure of sources, and with how many messages.

use std::path::PathBuf;
use std::sync::Arc;

use semel_core::{Error, Result};
use semel_inbox::Source;

use super::Broker;
use crate::inbox::OpenInbox;
use crate::progress::{Progress, Silent};

/// The most of everything; beyond these a run tells nothing more.
const ROUNDS_MAX: usize = 100;
const MESSAGES_MAX: usize = 200_000;

/// Makes a source of a URL, for a consumer of this name. Nothing is connected yet.
pub type OpenSource = Box<dyn Fn(&str, &str) -> Result<Arc<dyn Source>> + Send + Sync>;

/// What to measure, and with how much.
#[non_exhaustive]
pub struct SourceOptions {
    /// Opens the inbox that messages are received into.
    pub open: OpenInbox,
    /// Makes the sources to be measured.
    pub open_source: OpenSource,
    /// The brokers, each with its address.
    pub brokers: Vec<(Broker, String)>,
    /// Where inboxes keep their files, which are removed afterwards. It must be on the disk that counts.
    pub dir: PathBuf,
    /// How many messages a turn has.
    pub messages: usize,
    /// How many rounds; three at least make a range.
    pub rounds: usize,
    /// Hears how far the run is.
    pub progress: Box<dyn Progress>,
}

impl SourceOptions {
    /// The usual run: twenty thousand messages per turn, three rounds.
    pub fn new(dir: impl Into<PathBuf>, open: OpenInbox, open_source: OpenSource) -> Self {
        Self {
            open,
            open_source,
            brokers: Vec::new(),
            dir: dir.into(),
            messages: 20_000,
            rounds: 3,
            progress: Box::new(Silent),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (what, found, max) in [
            ("rounds", self.rounds, ROUNDS_MAX),
            ("messages", self.messages, MESSAGES_MAX),
            ("brokers", self.brokers.len(), usize::MAX),
        ] {
            if !(1..=max).contains(&found) {
                let message = format!("{what} must be 1 to {max}, found {found}");
                return Err(Error::invalid(message));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for SourceOptions {
    /// Without addresses: they may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let brokers = self.brokers.iter().map(|(broker, _)| broker);
        f.debug_struct("SourceOptions")
            .field("brokers", &brokers.collect::<Vec<_>>())
            .field("dir", &self.dir)
            .field("messages", &self.messages)
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}
