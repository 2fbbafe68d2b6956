//! The `main` of a crash test, and what it prints.

use std::fmt::Display;
use std::panic::resume_unwind;
use std::process::ExitCode;

use super::Options;
use super::options::number;
use crate::results;

/// How a run fared.
pub(crate) trait Findings: Display + Send + 'static {
    /// What the table of results is made of: what was killed, then the numbers that every crash test has.
    fn fields(&self) -> Vec<String>;

    /// What should not be.
    fn wrong(&self) -> &[String];
}

/// A run: so many kills, by this seed.
pub(crate) type Proof<V> = Box<dyn FnOnce(usize, u64) -> V + Send>;

/// Makes all runs at once, writes down how they fared, and says so. `points` is how many named points there are.
pub(crate) fn main<V: Findings>(
    what: &str,
    options: Options,
    points: usize,
    proofs: Vec<Proof<V>>,
) -> ExitCode {
    let Options { name, kills } = options.or_environment(points);
    let seed = number("SEMEL_CRASH_SEED").unwrap_or_else(crate::random::fresh_seed);
    let start = |proof: Proof<V>| std::thread::spawn(move || proof(kills, seed));
    let running: Vec<_> = proofs.into_iter().map(start).collect();
    let ended = running.into_iter().map(|proof| {
        let findings = proof.join().unwrap_or_else(|panic| {
            // A run that ended early must not look like a run that was not made.
            results::record("crash", name, &["failed".to_owned()]);
            resume_unwind(panic)
        });
        results::record("crash", name, &findings.fields());
        findings
    });
    let findings: Vec<V> = ended.collect();
    report(&format!("{what} {name}"), &findings, seed)
}

#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
fn report<V: Findings>(what: &str, findings: &[V], seed: u64) -> ExitCode {
    println!("\nkilling workers {what} with SIGKILL, seed {seed}");
    for findings in findings {
        println!("{findings}");
        for wrong in findings.wrong() {
            println!("{:>11}WRONG: {wrong}", "");
        }
    }
    let failed = findings.iter().filter(|v| !v.wrong().is_empty()).count();
    let passed = findings.len() - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n"
    );
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
