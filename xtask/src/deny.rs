//! Runs `cargo deny` with the repository's rules: licences, bans, duplicates and sources always, advisories where there is a database of them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;
use crate::services::{CARGO_DENY, installed};

const FETCH: &str = "--advisories";

/// Checks the lock file; `--advisories` fetches the newest advisories from the network first.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let fetch = match args {
        [] => false,
        [flag] if flag == FETCH => true,
        _ => {
            let message = format!("expected deny [{FETCH}], found deny {}", args.join(" "));
            return Err(Error::Usage(message));
        }
    };
    let program = installed(&CARGO_DENY, root)?;
    deny(&program, root, &["bans", "licenses", "sources"])?;
    match (fetch, database().is_some_and(|dir| dir.is_dir())) {
        (true, _) => deny(&program, root, &["advisories"]),
        (false, true) => deny(&program, root, &["--disable-fetch", "advisories"]),
        (false, false) => {
            let why = "there is no database on this machine";
            note(&format!(
                "advisories were not checked: {why}; {FETCH} fetches one"
            ));
            Ok(())
        }
    }
}

/// Where cargo-deny keeps the advisories that it fetched.
fn database() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    Some(home.join("advisory-dbs"))
}

fn deny(program: &Path, root: &Path, checks: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args([
        "--locked",
        "--all-features",
        "check",
        "--hide-inclusion-graph",
    ]);
    command.args(checks).current_dir(root);
    let ended = command.status().map_err(Error::when("run cargo-deny"))?;
    match ended.success() {
        true => Ok(()),
        false => {
            let checks = checks.join(" ");
            let message = format!("`cargo deny check {checks}` ended with {ended}");
            Err(Error::failed(message))
        }
    }
}
