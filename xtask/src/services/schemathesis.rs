//! Schemathesis, the fuzzer that reads the admin API's own description and calls the API by it.
//!
//! It has a virtual environment of its own: what it needs must not decide what the tests' Python has. The versions of what
//! makes the calls are pinned, because a seed gives the same calls only in the same versions.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::note;

use super::process;
use super::python::{isolated, system_python};
use super::slot::{create_dir, remove_dir};
use super::tool::Tool;

/// The packages by name and version.
const PINS: [(&str, &str); 3] = [
    ("hypothesis", "6.170.15"),
    ("jsonschema-rs", "0.60.3"),
    ("schemathesis", "4.32.5"),
];

/// Prints the version of each package that is named as an argument.
const SAY_VERSIONS: &str = "\
import sys
from importlib.metadata import version
import schemathesis.cli
for name in sys.argv[1:]:
    print(name + '==' + version(name))
";

/// The tool `schemathesis`: a Python that can run it with `-m schemathesis.cli`.
pub(super) struct Schemathesis;

impl Tool for Schemathesis {
    fn name(&self) -> &'static str {
        "schemathesis"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_SCHEMATHESIS"
    }

    fn works(&self, program: &Path) -> Result<()> {
        versions(program).map(drop)
    }

    fn find(&self, dir: &Path) -> Option<PathBuf> {
        let program = program(dir);
        let is_right = versions(&program).is_ok_and(|found| found == wanted());
        is_right.then_some(program)
    }

    fn install(&self, dir: &Path) -> Result<PathBuf> {
        let (system, venv) = (system_python()?, venv(dir));
        // What is there has other versions, or was interrupted half-way.
        remove_dir(&venv)?;
        create_dir(dir)?;
        process::output(isolated(&system).args(["-m", "venv"]).arg(&venv))?;
        note(&format!("schemathesis: fetching {}", wanted().join(" ")));
        let mut pip = isolated(&program(dir));
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"]);
        pip.arg("--disable-pip-version-check").args(wanted());
        process::output(&mut pip)?;
        self.find(dir).ok_or_else(|| {
            let expected = wanted().join(" ");
            Error::failed(format!("pip succeeded, but without {expected}"))
        })
    }
}

fn venv(dir: &Path) -> PathBuf {
    dir.join("venv")
}

fn program(dir: &Path) -> PathBuf {
    venv(dir).join("bin").join("python")
}

fn wanted() -> Vec<String> {
    let pins = PINS.iter();
    pins.map(|(name, version)| format!("{name}=={version}"))
        .collect()
}

/// The versions that a Python has of our packages; fails if it lacks one.
fn versions(program: &Path) -> Result<Vec<String>> {
    let names = PINS.iter().map(|(name, _)| name);
    let shown = process::output(isolated(program).args(["-c", SAY_VERSIONS]).args(names))?;
    Ok(shown.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_without_the_packages_does_not_work() {
        assert!(Schemathesis.works(Path::new("/bin/false")).is_err());
        assert!(Schemathesis.find(Path::new("/nowhere")).is_none());
    }
}
