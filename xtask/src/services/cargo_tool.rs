//! Programs from crates.io, built by cargo in the workspace's own directory of tools.
//!
//! They are built without optimisation, which takes a third of the time: they run for a second. Versions are pinned, so that a check does not change
//! because its program did.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;
use crate::workspace::cargo;

use super::process;
use super::slot::{create_dir, remove_dir};
use super::tool::{self, Tool};

/// A program that a crate brings along under its own name.
pub(crate) struct CargoTool {
    name: &'static str,
    variable: &'static str,
    version: &'static str,
    features: &'static str,
}

/// Builds the book of the documentation.
pub(crate) const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    variable: "SEMEL_MDBOOK",
    version: "0.5.4",
    features: "search",
};

/// Judges licences, sources and duplicates of the lock file.
pub(crate) const CARGO_DENY: CargoTool = CargoTool {
    name: "cargo-deny",
    variable: "SEMEL_CARGO_DENY",
    version: "0.20.2",
    features: "",
};

/// Where the program is, after it was installed if need be.
pub(crate) fn installed(program: &CargoTool, root: &Path) -> Result<PathBuf> {
    tool::ensure(program, root).map(|variable| variable.value.into())
}

impl Tool for CargoTool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn variable(&self) -> &'static str {
        self.variable
    }

    /// Any version will do in a program that the user looks after.
    fn works(&self, program: &Path) -> Result<()> {
        version(program).map(drop)
    }

    fn find(&self, dir: &Path) -> Option<PathBuf> {
        let program = dir.join("bin").join(self.name);
        let is_right = version(&program).is_ok_and(|found| found == self.version);
        is_right.then_some(program)
    }

    fn install(&self, dir: &Path) -> Result<PathBuf> {
        // What is there has another version, or was interrupted half-way.
        remove_dir(dir)?;
        create_dir(dir)?;
        note(&format!("{}: building {}", self.name, self.version));
        let args = ["install", "--debug", "--locked", "--quiet"];
        let mut install = cargo(dir, &args);
        install.args(["--no-default-features", "--version", self.version]);
        install.args(["--features", self.features]);
        install.args([self.name, "--root"]).arg(dir);
        process::output(&mut install)?;
        self.find(dir).ok_or_else(|| {
            let (name, version) = (self.name, self.version);
            Error::failed(format!("cargo succeeded, but without {name} {version}"))
        })
    }
}

/// What a program says about its version: `mdbook v0.5.4`, `cargo-deny 0.20.2`.
fn version(program: &Path) -> Result<String> {
    let said = process::output(Command::new(program).arg("--version"))?;
    let word = said.split_whitespace().last().unwrap_or_default();
    Ok(word.trim_start_matches('v').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_fails_does_not_work() {
        assert!(MDBOOK.works(Path::new("/nowhere/mdbook")).is_err());
        assert!(MDBOOK.works(Path::new("/bin/false")).is_err());
        assert!(MDBOOK.find(Path::new("/nowhere")).is_none());
    }
}
