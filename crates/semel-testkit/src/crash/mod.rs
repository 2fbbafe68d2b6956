//! Real processes, really killed: starts workers, ends them with SIGKILL at named and at random
//! points, and compares the ledger with what callers were told.
//!
//! A store's crate has a test of its own without the usual harness, whose `main` is one line:
//! `semel_testkit::crash::main(|dir| …open the store in dir…)`. The test starts itself again as the
//! workers. `SEMEL_CRASH_KILLS` sets the number of kills per policy, `SEMEL_CRASH_SEED` repeats a run.

mod life;
mod point;
mod supervisor;
mod verdict;
mod worker;

pub use point::Point;
pub use verdict::Verdict;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::{OnUnknown, Store};

/// Opens the store of a crash test; every process of it calls this with the same directory.
pub type Open = fn(&Path) -> Arc<dyn Store>;

/// Kills per policy unless `SEMEL_CRASH_KILLS` says otherwise.
const KILLS: usize = 210;

/// The three policies, each proven by a loop of its own.
const POLICIES: [OnUnknown; 3] = [OnUnknown::Hold, OnUnknown::Rerun, OnUnknown::Reconcile];

/// The `main` of a crash test: the supervisor, or a worker that the supervisor started.
pub fn main(open: Open) -> ExitCode {
    if let Some(job) = worker::Job::from_environment() {
        worker::run(&job, open);
        return ExitCode::SUCCESS;
    }
    let kills = number("SEMEL_CRASH_KILLS").map_or(KILLS, |n| usize::try_from(n).unwrap_or(KILLS));
    let seed = number("SEMEL_CRASH_SEED").unwrap_or_else(crate::dice::fresh_seed);
    let loops = POLICIES
        .map(|policy| std::thread::spawn(move || supervisor::prove(policy, kills, seed, open)));
    let verdicts = loops.map(|proof| proof.join().expect("a supervisor does not panic"));
    report(&verdicts, seed)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
fn report(verdicts: &[Verdict], seed: u64) -> ExitCode {
    println!("\nkilling workers with SIGKILL, seed {seed}");
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
