//! What a process is started for.

use serde::{Deserialize, Serialize};

use super::life::{VARIABLE, say};
use crate::stage::StoreAddress;

/// Where a process stands still until it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Window {
    /// Delivered, and nothing is written.
    BeforeStored,
    /// Stored, and nobody has claimed it.
    BeforeClaim,
    /// Claimed, and the handler has done nothing.
    AfterClaim,
    /// The handler has called a provider.
    AfterCall,
    /// Effect and end are written in the handler's own transaction, which is not committed.
    BeforeCommit,
    /// Dealt with for good, and the source has not been told.
    AfterCommit,
    /// Stored and nothing more, and the source has not been told.
    BeforeAck,
    /// The source has just been told.
    AfterAck,
    /// At the end of a second attempt, before anybody knows of it.
    DuringRetry,
    /// At the end of a replay, before anybody knows of it.
    DuringReplay,
    /// The provider has answered an intent, and that is not written.
    AfterSend,
    /// The first of two steps is done.
    BetweenSteps,
}

/// What the handler does.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Doing {
    /// A row in its own transaction, together with the end.
    pub(crate) row: bool,
    /// A call to a provider that knows its callers' keys.
    pub(crate) call: bool,
    /// An intent.
    pub(crate) intent: bool,
    /// Two steps, each with a call to a provider that knows no keys.
    pub(crate) steps: bool,
    /// All of this and then a failure, the first time.
    pub(crate) fails_first: bool,
}

/// What a process is started for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) place: StoreAddress,
    /// Where source and provider are.
    pub(crate) outside: String,
    pub(crate) window: Option<Window>,
    pub(crate) doing: Doing,
    /// Whether the source is told after the effect, rather than after the receive.
    pub(crate) after_effect: bool,
    /// Whether messages come by a webhook, rather than from the queue.
    pub(crate) webhook: bool,
}

impl Job {
    /// The job of this process, if it was started as a worker.
    pub(crate) fn from_environment() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// The address of a provider.
    pub(crate) fn provider(&self, name: &str) -> String {
        format!("{}/provider/{name}", self.outside)
    }

    /// Whether this process stands still at one of these windows.
    pub(crate) fn is_for(&self, windows: &[Window]) -> bool {
        self.window.is_some_and(|own| windows.contains(&own))
    }

    /// Stands still for ever if this is its window. It blocks the thread: there is nothing more to be done in this process.
    pub(crate) fn reach(&self, window: Window) {
        if self.is_for(&[window]) {
            say("at the window");
            loop {
                std::thread::park();
            }
        }
    }
}
