//! Real processes, really killed: starts workers, ends them with SIGKILL at named and at random
//! points, and compares the ledger with what callers were told.
//!
//! A store's crate has a test of its own without the usual harness, whose `main` is one line:
//! `semel_testkit::crash::main("SQLite", |dir| Box::pin(…open the store in dir…))`. The test starts
//! itself again as the workers. `SEMEL_CRASH_KILLS` sets the number of kills per policy,
//! `SEMEL_CRASH_SEED` repeats a run.
//!
//! Several runs may share one server: the identities of a run belong to a tenant of its own.

mod life;
pub(crate) mod opening;
pub(crate) mod options;
mod point;
mod supervisor;
mod verdict;
mod worker;

pub use opening::{Open, Opening};
pub use options::Options;
pub use point::Point;
pub use verdict::Verdict;

use std::panic::resume_unwind;
use std::process::ExitCode;

use semel_core::OnUnknown;

use crate::results;

/// The three policies, each proven by a loop of its own.
const POLICIES: [OnUnknown; 3] = [OnUnknown::Hold, OnUnknown::Rerun, OnUnknown::Reconcile];

/// The `main` of a crash test: the supervisor, or a worker that the supervisor started.
///
/// The options may be just the store's name.
pub fn main(options: impl Into<Options>, open: Open) -> ExitCode {
    if let Some(job) = worker::Job::from_environment() {
        worker::run(&job, open);
        return ExitCode::SUCCESS;
    }
    let Options { name, kills } = options.into().or_environment(Point::ALL.len());
    let seed = options::number("SEMEL_CRASH_SEED").unwrap_or_else(crate::dice::fresh_seed);
    let loops = POLICIES
        .map(|policy| std::thread::spawn(move || supervisor::prove(policy, kills, seed, open)));
    let verdicts = loops.map(|proof| {
        let verdict = proof.join().unwrap_or_else(|panic| {
            // A run that ended early must not look like a run that was not made.
            results::record("crash", name, &["failed".to_owned()]);
            resume_unwind(panic)
        });
        results::record("crash", name, &verdict.fields());
        verdict
    });
    report(name, &verdicts, seed)
}

#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
fn report(name: &str, verdicts: &[Verdict], seed: u64) -> ExitCode {
    println!("\nkilling workers of {name} with SIGKILL, seed {seed}");
    for verdict in verdicts {
        println!("{verdict}");
    }
    let failed = verdicts.iter().filter(|v| !v.wrong.is_empty()).count();
    let passed = verdicts.len() - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n"
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
