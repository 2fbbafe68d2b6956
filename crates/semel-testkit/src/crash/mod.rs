//! Real processes, really killed: starts workers, ends them with SIGKILL at named and at random
//! points, and compares the ledger with what callers were told.
//!
//! A store's crate has a test of its own without the usual harness, whose `main` is one line:
//! `semel_testkit::crash::main("SQLite", |dir| Box::pin(…open the store in dir…))`. The test starts
//! itself again as the workers. `SEMEL_CRASH_KILLS` sets the number of kills per policy,
//! `SEMEL_CRASH_SEED` repeats a run.
//!
//! Several runs may share one server: the identities of a run belong to a tenant of its own.

mod callers;
mod findings;
mod worker;

pub use crate::killing::{Open, Opening, Options};

use std::process::ExitCode;

use semel_core::OnUnknown;

use crate::killing::{self, Lives, Point as _, Proof, Scene, points};
use callers::Callers;
use findings::Findings;
use worker::Job;

/// The three policies, each proven by a loop of its own.
const POLICIES: [OnUnknown; 3] = [OnUnknown::Hold, OnUnknown::Rerun, OnUnknown::Reconcile];

points! {
    /// A point in the life of one operation, in the order in which it passes them.
    enum {
        /// Nothing has been written.
        BeforeClaim = "before-claim",
        /// The claim is durable, the run has begun.
        AfterClaim = "after-claim",
        /// In the middle of the run, the effect not yet made.
        DuringRun = "during-run",
        /// The effect is made and not written down yet.
        AfterEffect = "after-effect",
        /// The outcome is durable and the caller has not been told.
        AfterSettle = "after-settle",
    }
}

/// The `main` of a crash test: the supervisor, or a worker that the supervisor started.
///
/// The options may be just the store's name.
pub fn main(options: impl Into<Options>, open: Open) -> ExitCode {
    if let Some(job) = Scene::from_environment().and_then(Job::of) {
        worker::run(job, open);
        return ExitCode::SUCCESS;
    }
    let proofs = POLICIES.map(|policy| -> Proof<Findings> {
        Box::new(move |kills, seed| prove(policy, kills, seed, open))
    });
    killing::main("of", options.into(), Point::all().len(), proofs.into())
}

/// Kills workers `kills` times under `policy` and says whether the rules held.
fn prove(policy: OnUnknown, kills: usize, seed: u64, open: Open) -> Findings {
    let scene = Scene::new("crash", policy.name());
    let mut callers = Callers::default();
    let seed = seed ^ policy.name().len() as u64;
    let kills = Lives::spend(&scene, seed, kills, &mut callers);
    findings::judge(&Job { scene, policy }, &callers, kills, open)
}
