//! The workspace's own commands, run as `cargo xtask <verb>`.
//!
//! Read [`mod@test`] first: it is the one command that people and CI run. It leans on
//! [`tidy`] (the repository's rules), [`services`] (real servers for the tests),
//! [`steps`] (timing and the summary) and [`guard`] (nothing outlives a run).
//!
//! This crate deliberately has no dependencies, so that it builds in seconds, and
//! it does nothing that a shell with cargo and git at hand could not do.

use std::env;
use std::path::Path;
use std::process::ExitCode;

mod book;
mod deny;
mod dist;
mod docs;
mod error;
mod features;
mod guard;
mod json;
mod output;
mod packages;
mod process;
mod release;
mod results;
mod services;
mod soak;
mod steps;
mod test;
mod tidy;
mod workspace;

use error::{Error, Result};

const USAGE: &str = "\
usage: cargo xtask <verb>

  test [--keep-services] [CARGO TEST ARGS...]
                            format, tidy, deny, clippy, services, tests, docs, book
  ci                        what CI runs: the same as `test`
  tidy                      check the repository's rules
  docs                      write the pages that are made from code
  book                      the same, and build the book into target/book
  features                  check that each feature of a published crate compiles alone
  deny [--advisories]       check licences, bans and sources of the lock file with cargo-deny;
                            with the newest advisories from the network
  dist [--profile NAME] [--target TRIPLE] [--out DIR] [--binary FILE]
                            make a static archive and a Debian package; prints their paths
  release VERSION           set the version, commit and tag it; pushes and publishes nothing
  soak [BROKER...]          100,000 messages per broker while engines are killed; SEMEL_SOAK_MESSAGES
                            says how many instead
  services up [NAME...]     start or install what is missing; prints `export` lines
  services down [NAME...]   stop what `up` started, and remove its data
  services status           say what is running or installed
  services up NAME --slot SLOT [--set NAME=VALUE]...
                            start a server of your own, with settings of your own;
                            prints its processes and its directory too
  services restart NAME --slot SLOT
                            kill it if it lives, start it again on the same data
  services down [NAME...] --slot SLOT
                            stop it, and remove its data
  help                      show this text

exit codes: 0 all is well, 1 something failed, 2 the command line is wrong";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let Err(error) = run(&workspace::root(), &args) else {
        return ExitCode::SUCCESS;
    };
    output::note(&format!("error: {error}"));
    match error {
        Error::Failed(_) => ExitCode::FAILURE,
        Error::Usage(_) => {
            output::note(&format!("\n{USAGE}"));
            ExitCode::from(2)
        }
    }
}

fn run(root: &Path, args: &[String]) -> Result<()> {
    let (verb, rest) = match args.split_first() {
        Some((verb, rest)) => (verb.as_str(), rest),
        None => ("help", args),
    };
    match verb {
        "test" | "ci" => test::run(root, rest),
        "tidy" => tidy::run(root),
        "docs" => docs::run(root),
        "book" => book::run(root),
        "features" => features::run(root),
        "deny" => deny::run(root, rest),
        "dist" => dist::run(root, rest),
        "release" => release::run(root, rest),
        "services" => services::run(root, rest),
        "soak" => soak::run(root, rest),
        guard::VERB => guard::watch(root, rest),
        "help" | "--help" | "-h" => {
            output::note(USAGE);
            Ok(())
        }
        unknown => Err(Error::Usage(format!("unknown verb `{unknown}`"))),
    }
}
