//! Real processes that process messages, really killed: workers are ended with SIGKILL at named and at random points, while
//! their source delivers at least once; then every message must have taken effect once.
//!
//! A store's crate has a test of its own without the usual harness, whose `main` is one line:
//! `semel_testkit::inbox_crash::main(Options::new("SQLite").kills(100), |dir| Box::pin(…open the store in dir…))`. The test starts
//! itself again as the workers. `SEMEL_CRASH_KILLS` sets the number of kills, `SEMEL_CRASH_SEED` repeats a run.
//!
//! A message has three effects, each counted where no killed process can reach it:
//! - its handler calls a provider, the ledger, which knows it by its id and does each once;
//! - its outcome is written together with an intent whose id names the claim, so a second run that counted would show;
//! - the intent is sent to the ledger by a consumer of its own.
//!
//! Some messages fail at first and are tried again, some are acknowledged only when they are done, some are replayed, some have
//! lanes. The source delivers again what was not acknowledged, and at times what was done; never what was acknowledged
//! and is not known to be done, so a message that the inbox lost is missed.

mod findings;
mod handler;
mod intake;
mod job;
mod source;
mod worker;

pub use crate::killing::{Open, Opening, Options};

use std::process::ExitCode;
use std::sync::Arc;

use semel_core::{Inbox, Store};

use crate::killing::{self, Lives, Point as _, Proof, Scene, points};
use findings::Findings;
use job::Job;
use source::Source;

/// What a test opens: a store and its inbox.
pub type Opened = (Arc<dyn Store>, Arc<dyn Inbox>);

points! {
    /// A point in the life of one message.
    enum {
        /// The source has delivered it and nothing is written.
        BeforeReceive = "before-receive",
        /// Everything that its source waits for is durable, and the source has not been told.
        BeforeAck = "before-ack",
        /// The source was told.
        AfterAck = "after-ack",
        /// It waits, and no worker has claimed it.
        BeforeClaim = "before-claim",
        /// The claim is durable, the handler has begun.
        AfterClaim = "after-claim",
        /// The handler's first step is written to the database.
        AfterStep = "after-step",
        /// The provider was called, which is not written down yet.
        AfterCall = "after-call",
        /// The effect in the database and the outcome are written, and the source has no answer yet.
        AfterWrite = "after-write",
        /// In the attempt after one that failed.
        DuringRetry = "during-retry",
        /// In the run of a message that was done before.
        DuringReplay = "during-replay",
        /// The intent was sent to its provider, which is not written down yet.
        AfterSend = "after-send",
    }
}

/// The `main` of a crash test: the supervisor, or a worker that the supervisor started.
///
/// The options may be just the store's name.
pub fn main(options: impl Into<Options>, open: Open<Opened>) -> ExitCode {
    if let Some(scene) = Scene::from_environment() {
        worker::run(Job { scene }, open);
        return ExitCode::SUCCESS;
    }
    let proof: Proof<Findings> = Box::new(move |kills, seed| prove(kills, seed, open));
    let points = Point::all().len();
    killing::main("on the inbox of", options.into(), points, vec![proof])
}

/// Kills workers `kills` times and says whether the rules held.
fn prove(kills: usize, seed: u64, open: Open<Opened>) -> Findings {
    let scene = Scene::new("inbox", "messages");
    let mut source = Source::default();
    let kills = Lives::spend(&scene, seed, kills, &mut source);
    findings::judge(&Job { scene }, &source, kills, open)
}
