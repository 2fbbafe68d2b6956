//! Programs from crates.io, built by cargo without optimisation, which takes a third of the time: they run for a second.

use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::process;
use crate::workspace::cargo;

use super::super::slot::{create_dir, remove_dir};

/// Compares what a program says about its version: `mdbook v0.5.4`, `cargo-deny 0.20.2`.
pub(super) fn check(program: &Path, version: &str) -> Result<bool> {
    let said = process::output(Command::new(program).arg("--version"))?;
    let word = said.split_whitespace().last().unwrap_or_default();
    Ok(word.trim_start_matches('v') == version)
}

pub(super) fn install(dir: &Path, name: &str, version: &str, features: &str) -> Result<()> {
    remove_dir(dir)?;
    create_dir(dir)?;
    super::fetching(&format!("and building {name} {version}"));
    let mut install = cargo(dir, &["install", "--debug", "--locked", "--quiet"]);
    install.args(["--no-default-features", "--version", version]);
    install
        .args(["--features", features, name, "--root"])
        .arg(dir);
    process::output(&mut install).map(drop)
}
