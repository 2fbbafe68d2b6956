//! Power loss under the embedded store: what was acknowledged is there when the power is back.
//!
//! Workers run the shipped store over [`semel_powerloss`], which keeps account of what SQLite has synced. At a chosen moment the
//! power fails: the worker is killed with SIGKILL, and the store's files become what was durable, with an
//! arbitrary part of what was not. The supervisor holds them against what workers said that the store had acknowledged, and
//! against the effects in the ledger. The same loop with syncs left out must find losses: it would notice a missing one.
//!
//! `SEMEL_CRASH_SEED` repeats the choices of a run, `SEMEL_CRASH_KILLS` makes it longer.

mod account;
mod findings;
mod history;
mod job;
mod opening;
mod worker;

use std::collections::BTreeMap;
use std::process::ExitCode;

use history::{History, Start};
use job::{Job, Task};
use semel_powerloss::{Fault, Moment};
use semel_testkit::random::{Random, fresh_seed};

/// How often the power fails in a healthy run at least: every moment has its turn.
const LOSSES: u64 = 210;
/// How often it fails on one file.
const LIVES: usize = 7;
/// After how many files at most a fault must have been found.
const FILES_MAX: u64 = 12;

/// When the power fails while a file is new, and up to which time.
const CREATING: [(Moment, u64); 7] = [
    (Moment::Any, 60),
    (Moment::Creation, 3),
    (Moment::Journal, 4),
    (Moment::DirectorySync, 2),
    (Moment::DatabaseWrite, 2),
    (Moment::LogWrite, 60),
    (Moment::LogSync, 3),
];
/// The same while the schema of a file is brought up to date.
const MIGRATING: [(Moment, u64); 4] = [
    (Moment::Any, 60),
    (Moment::LogWrite, 40),
    (Moment::LogSync, 2),
    (Moment::DirectorySync, 1),
];
/// The same while operations run, and the store is closed and opened now and then.
const RUNNING: [(Moment, u64); 9] = [
    (Moment::Any, 400),
    (Moment::LogRestart, 4),
    (Moment::DatabaseWrite, 80),
    (Moment::LogSync, 40),
    (Moment::DatabaseSync, 6),
    (Moment::LogWrite, 200),
    (Moment::Deletion, 2),
    (Moment::DirectorySync, 2),
    (Moment::Creation, 2),
];

fn main() -> ExitCode {
    if let Some(job) = Job::from_environment() {
        match job.task {
            Task::Serve(first) => worker::serve(&job, first),
            Task::Open => opening::open(&job),
        }
        return ExitCode::SUCCESS;
    }
    let seed = number("SEMEL_CRASH_SEED").unwrap_or_else(fresh_seed);
    let healthy = std::thread::spawn(move || healthy(seed));
    let mut wrong = opening::wrong();
    wrong.extend(faults_are_found(seed));
    wrong.extend(healthy.join().expect("the supervisor does not panic"));
    report(&wrong, seed)
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("a number"))
}

/// The shipped store loses nothing; what is wrong if it does.
fn healthy(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut wrong = Vec::new();
    let mut losses = BTreeMap::<&str, usize>::new();
    let (mut acknowledged, mut files) = (0, 0);
    let losses_max = number("SEMEL_CRASH_KILLS").unwrap_or(0).max(LOSSES);
    while files * LIVES as u64 <= losses_max && wrong.is_empty() {
        let history = history(files, random.below(u64::MAX), None);
        for moment in &history.losses {
            *losses.entry(moment.name()).or_default() += 1;
        }
        acknowledged += history.account.acknowledged;
        wrong.extend(history.wrong);
        files += 1;
    }
    // A run that never reached one of the moments has shown less than it says.
    let unseen = Moment::ALL
        .iter()
        .filter(|m| **m != Moment::Any && !losses.contains_key(m.name()));
    wrong.extend(unseen.map(|moment| format!("{} saw no power loss", moment.name())));
    let all: usize = losses.values().sum();
    say(&format!(
        "power loss: {all} on {files} files {losses:?}, {acknowledged} answers"
    ));
    wrong
}

/// The file of this number through its losses: every other one begins with an older schema.
fn history(number: u64, seed: u64, fault: Option<Fault>) -> History {
    let at = usize::try_from(number).expect("few files");
    let (start, begin) = match at % 2 {
        0 => (Start::Nothing, CREATING[at / 2 % CREATING.len()]),
        _ => (Start::OldFile, MIGRATING[at / 2 % MIGRATING.len()]),
    };
    let mut history = History::begin(start, seed, fault);
    let running = (0..LIVES - 1).map(|life| RUNNING[(at * (LIVES - 1) + life) % RUNNING.len()]);
    for (moment, nth_max) in std::iter::once(begin).chain(running) {
        if history.wrong.is_empty() {
            history.live(moment, nth_max);
        }
    }
    history
}

/// Every fault that costs durability is found by the same loop; those that are not.
fn faults_are_found(seed: u64) -> Vec<String> {
    let faults = [
        Fault::SyncsIgnored,
        Fault::DirectorySyncsIgnored,
        Fault::NormalHidden,
        Fault::OffHidden,
    ];
    let mut random = Random::new(seed);
    let mut found = |fault: Fault| {
        let mut files =
            (0..FILES_MAX).map(|file| history(file, random.below(u64::MAX), Some(fault)));
        let history = files.find(|history| !history.wrong.is_empty())?;
        say(&format!("{}: {}", fault.name(), history.wrong[0]));
        Some(())
    };
    let missed = faults.into_iter().filter(|fault| found(*fault).is_none());
    missed
        .map(|fault| format!("{} was not noticed", fault.name()))
        .collect()
}

fn report(wrong: &[String], seed: u64) -> ExitCode {
    for wrong in wrong {
        say(&format!("WRONG: {wrong}"));
    }
    if wrong.is_empty() {
        return ExitCode::SUCCESS;
    }
    say(&format!(
        "repeat these choices with SEMEL_CRASH_SEED={seed}"
    ));
    ExitCode::FAILURE
}

#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
fn say(line: &str) {
    println!("{line}");
}
