//! Whether the topics are such that ids are remembered for as long as messages can come again: asked before anything runs, and from then on.

use std::sync::Arc;
use std::time::Duration;

use semel_core::{Error, Result, duration};
use semel_inbox::source::{Retained, Source as _};

use crate::facts::Inspector;
use crate::processed::load;
use crate::source::{KafkaSource, Options};

/// What is asked.
pub(super) struct Check {
    pub(super) source: Arc<KafkaSource>,
    pub(super) options: Options,
    pub(super) log: Arc<str>,
    /// The other topics that are written.
    pub(super) written: Vec<Arc<str>>,
    pub(super) inspector: Inspector,
    pub(super) keep: Duration,
}

impl Check {
    /// What an operator should know, or why nothing may run.
    pub(super) async fn ask(self: Arc<Self>) -> Result<Vec<String>> {
        self.remembers().await?;
        let own = self.clone();
        super::blocking(move || load::check(&own.options, &own.log, &own.written)).await?;
        let facts = self.source.facts().await?;
        match facts.refusal(self.keep, true) {
            Some(why) => Err(Error::invalid(why)),
            None => Ok(facts.advice(self.keep)),
        }
    }

    /// Refuses a log that forgets ids before their retention ends.
    async fn remembers(&self) -> Result<()> {
        match self.inspector.retained().await? {
            Some(Retained::For(kept)) if kept < self.keep => Err(Error::invalid(format!(
                "the log {:?} forgets ids after {}, and they are to be remembered for {}: it needs cleanup.policy=compact",
                self.log,
                duration::show(kept),
                duration::show(self.keep)
            ))),
            _ => Ok(()),
        }
    }
}
