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

mod handler;
mod intake;
mod job;
mod point;
mod stops;
mod supervisor;
mod verdict;
mod word;
mod worker;

pub use crate::crash::{Open, Opening, Options};
pub use point::Point;
pub use verdict::Verdict;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::{Inbox, Store};

use crate::crash::options::number;
use crate::results;

/// What a test opens: a store and its inbox.
pub type Opened = (Arc<dyn Store>, Arc<dyn Inbox>);

/// The `main` of a crash test: the supervisor, or a worker that the supervisor started.
///
/// The options may be just the store's name.
pub fn main(options: impl Into<Options>, open: Open<Opened>) -> ExitCode {
    if let Some(job) = job::Job::from_environment() {
        worker::run(job, open);
        return ExitCode::SUCCESS;
    }
    let Options { name, kills } = options.into().or_environment(Point::ALL.len());
    let seed = number("SEMEL_CRASH_SEED").unwrap_or_else(crate::dice::fresh_seed);
    let proof = catch_unwind(AssertUnwindSafe(|| supervisor::prove(kills, seed, open)));
    let verdict = proof.unwrap_or_else(|panic| {
        // A run that ended early must not look like a run that was not made.
        results::record("crash", name, &["failed".to_owned()]);
        resume_unwind(panic)
    });
    results::record("crash", name, &verdict.fields());
    report(name, &verdict, seed)
}

#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
fn report(name: &str, verdict: &Verdict, seed: u64) -> ExitCode {
    println!("\nkilling workers on the inbox of {name} with SIGKILL, seed {seed}\n{verdict}");
    let failed = usize::from(!verdict.wrong.is_empty());
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n",
        1 - failed
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
