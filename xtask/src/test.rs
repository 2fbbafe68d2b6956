//! The one test command: what a person runs before a change, and what CI runs.
//!
//! Steps go from the cheapest to the dearest and stop at the first failure. Services are installed and started while the tests
//! compile, and stopped in any case; see [`crate::guard`] for how. What failed is said once more at the end.

mod failures;
mod watched;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::book;
use crate::deny;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::output::note;
use crate::results;
use crate::services::{self, Slot, Variable};
use crate::steps::Steps;
use crate::tidy;
use crate::workspace::cargo;
use watched::Watched;

/// Runs every step and prints the summary.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let options = Options::parse(args);
    let slot = if options.keep_services {
        Slot::shared(root)
    } else {
        Slot::of_this_run(root)
    };
    let mut guard = Guard::start(&slot)?;
    let (mut steps, tests) = (Steps::default(), Watched::default());
    let checked = check(root, &options, &slot, &mut guard, &mut steps, &tests);
    let stopped = steps.run("stop services", || guard.finish());
    if let Some(failures) = tests.summary() {
        note(&failures);
    }
    note(&steps.summary());
    checked.and(stopped)
}

fn check(
    root: &Path,
    options: &Options,
    slot: &Slot,
    guard: &mut Guard,
    steps: &mut Steps,
    tests: &Watched,
) -> Result<()> {
    steps.run("format", || {
        guard.run(cargo(root, &["fmt", "--all", "--check"]))
    })?;
    steps.run("tidy", || tidy::run(root))?;
    steps.run("deny", || deny::run(root, &[]))?;
    steps.run("clippy", || guard.run(cargo(root, CLIPPY)))?;
    let (variables, ()) = steps.run_both(
        ("services", || services::for_tests(root, slot)),
        ("compile", |is_pointless| match options.compile_args() {
            Some(args) => guard.run_unless(cargo(root, &args), is_pointless),
            None => Ok(()),
        }),
    )?;
    steps.run("test", || test(root, options, &variables, guard, tests))?;
    if options.rest.is_empty() {
        steps.run("kafka tls", || kafka_tls(root, &variables, guard, tests))?;
    }
    steps.run("docs", || {
        let mut docs = cargo(root, &["doc", "--workspace", "--no-deps", "--locked"]);
        docs.env("RUSTDOCFLAGS", "-D warnings");
        guard.run(docs)
    })?;
    steps.run("book", || guard.run(book::build(root)?))
}

const CLIPPY: &[&str] = &[
    "clippy",
    "--workspace",
    "--all-targets",
    "--locked",
    "--",
    "-D",
    "warnings",
];

/// The tests of the feature that needs a library of the system. The whole workspace is named so that nothing but librdkafka and what stands on
/// it is built again.
const KAFKA_TLS: &[&str] = &[
    "test",
    "--locked",
    "--workspace",
    "--features",
    "semel-kafka/tls",
    "--test",
    "kafka",
    "--",
    "tls::",
];

fn kafka_tls(
    root: &Path,
    variables: &[Variable],
    guard: &mut Guard,
    watched: &Watched,
) -> Result<()> {
    let mut find = Command::new("pkg-config");
    if !find
        .args(["--exists", "openssl"])
        .status()
        .is_ok_and(|found| found.success())
    {
        services::install_package("pkg-config")?;
        services::install_package("libssl-dev")?;
    }
    let mut tests = cargo(root, KAFKA_TLS);
    tests
        .envs(variables.iter().map(|var| (var.name, &var.value)))
        .env("SEMEL_TEST_XTASK", this_program()?);
    watched.run(guard, tests)
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().map_err(Error::when("find this program"))
}

fn test(
    root: &Path,
    options: &Options,
    variables: &[Variable],
    guard: &mut Guard,
    watched: &Watched,
) -> Result<()> {
    // The run has a slot even if its services are in the shared one.
    let slot = Slot::of_this_run(root);
    let found = slot.create_results()?;
    let mut tests = cargo(root, &options.cargo_test_args());
    tests
        .envs(variables.iter().map(|var| (var.name, &var.value)))
        // Tests that break servers start their own with this program.
        .env("SEMEL_TEST_XTASK", this_program()?)
        .env("SEMEL_TEST_RESULTS", &found);
    let ended = watched.run(guard, tests);
    results::print(&found);
    slot.remove();
    ended
}

#[derive(Debug, Default)]
struct Options {
    keep_services: bool,
    /// Whatever is not ours is passed on to `cargo test`.
    rest: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Self {
        let (ours, rest) = args
            .iter()
            .cloned()
            .partition::<Vec<_>, _>(|arg| arg == "--keep-services");
        Self {
            keep_services: !ours.is_empty(),
            rest,
        }
    }

    fn cargo_test_args(&self) -> Vec<&str> {
        let mut args = vec!["test", "--locked"];
        // Cargo lets `--workspace` win over `--package`, which would silently
        // test everything when one package was asked for.
        if !self.names_a_package() {
            args.push("--workspace");
            // A run of half an hour says all that is wrong, not the first of it.
            args.push("--no-fail-fast");
        }
        args.extend(self.rest.iter().map(String::as_str));
        args
    }

    /// What compiles the tests without running them; none if that is not possible.
    fn compile_args(&self) -> Option<Vec<&str>> {
        let mut args = self.cargo_test_args();
        // The documentation's examples are compiled when they run.
        if args.contains(&"--doc") || args.contains(&"--no-run") {
            return None;
        }
        args.insert(1, "--no-run");
        Some(args)
    }

    fn names_a_package(&self) -> bool {
        self.rest
            .iter()
            .take_while(|arg| *arg != "--")
            .any(|arg| arg.starts_with("-p") || arg.starts_with("--package"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_reach_cargo_test_and_a_package_replaces_the_workspace() {
        let table: &[(&[&str], bool, &[&str])] = &[
            (
                &[],
                false,
                &["test", "--locked", "--workspace", "--no-fail-fast"],
            ),
            (
                &["--keep-services", "fence"],
                true,
                &["test", "--locked", "--workspace", "--no-fail-fast", "fence"],
            ),
            (
                &["-p", "semel-core"],
                false,
                &["test", "--locked", "-p", "semel-core"],
            ),
            (
                &["--", "-p"],
                false,
                &[
                    "test",
                    "--locked",
                    "--workspace",
                    "--no-fail-fast",
                    "--",
                    "-p",
                ],
            ),
        ];
        for (args, keep, expected) in table {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            let options = Options::parse(&args);
            assert_eq!(options.keep_services, *keep, "{args:?}");
            assert_eq!(options.cargo_test_args(), *expected, "{args:?}");
            let compile = options.compile_args().unwrap();
            assert_eq!(compile[..2], ["test", "--no-run"], "{args:?}");
            assert_eq!(compile[2..], expected[1..], "{args:?}");
        }
    }
}
