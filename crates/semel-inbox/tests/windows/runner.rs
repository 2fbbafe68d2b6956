//! Runs all cases on all stores, a few at a time, and reports as the usual harness does.

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::kills::{self, Plot};
use crate::scenarios;
use crate::stage::{self, Kind, Stage};

/// How many cases run at the same time; most of them wait for a lease to end.
const AT_ONCE: usize = 6;

/// A case on its way.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What is run on a stage.
#[derive(Clone, Copy)]
enum Act {
    Kill(Plot),
    Scenario(scenarios::Scenario),
}

struct Case {
    name: String,
    kind: Kind,
    act: Act,
}

/// Runs what the first free argument names; everything without one.
#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
pub(crate) fn run() -> ExitCode {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let filter = filter.unwrap_or_default();
    let (chosen, others): (Vec<Case>, Vec<Case>) = cases()
        .into_iter()
        .partition(|case| case.name.contains(&filter));
    if chosen.iter().any(|case| case.kind == Kind::Postgres) {
        // Says once what is missing, rather than in every case.
        stage::check_server();
    }
    println!("\nrunning {} tests", chosen.len());
    let (count, runtime) = (chosen.len(), tokio::runtime::Runtime::new().unwrap());
    let failed = runtime.block_on(run_all(chosen));
    for name in &failed {
        println!("failed: {name}");
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out\n",
        count - failed.len(),
        failed.len(),
        others.len()
    );
    match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in Kind::ALL {
        let case = |name: String, act| Case {
            name: format!("{}::{name}", kind.name()),
            kind,
            act,
        };
        let kills = kills::plots().into_iter();
        cases.extend(kills.map(|plot| {
            let name = format!("{}::{}", plot.name, plot.variant);
            case(name, Act::Kill(plot))
        }));
        let scenarios = scenarios::ALL.into_iter();
        cases.extend(scenarios.map(|(name, run)| case(name.to_owned(), Act::Scenario(run))));
    }
    cases
}

/// Runs all; the names of those that failed.
async fn run_all(cases: Vec<Case>) -> Vec<String> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = tokio::task::JoinSet::new();
    for (number, case) in cases.into_iter().enumerate() {
        let room = room.clone();
        running.spawn(async move {
            let _place = room.acquire().await.unwrap();
            let passed = run_one(number, case.kind, case.act).await;
            report(&case.name, passed);
            (!passed).then_some(case.name)
        });
    }
    let mut failed = Vec::new();
    while let Some(ended) = running.join_next().await {
        failed.extend(ended.unwrap());
    }
    failed.sort_unstable();
    failed
}

/// Runs one case on a stage of its own; whether it passed. Why it did not is what its panic said.
async fn run_one(number: usize, kind: Kind, act: Act) -> bool {
    let set = tokio::spawn(Stage::set(kind, number)).await;
    let Ok(stage) = set.map(Arc::new) else {
        return false;
    };
    let (on, place) = (stage.clone(), stage.place.clone());
    let ended = tokio::spawn(async move {
        match act {
            Act::Kill(plot) => kills::killed(&on, plot).await,
            Act::Scenario(run) => run(&on).await,
        }
    });
    let passed = ended.await.is_ok();
    drop(stage);
    Stage::clear(&place).await;
    passed
}

#[expect(
    clippy::print_stdout,
    reason = "this is the main of a test, and its report is what the test prints"
)]
fn report(name: &str, passed: bool) {
    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
}
