//! Pythons with packages that the tests drive: Stripe's own client and a stateful stand-in for Stripe's servers, the
//! fuzzer that calls the admin API by its own description, and the SDK that agents and their tools are written with.
//!
//! Each is a virtual environment of its own in the workspace, so that nothing is installed into the system's Python or
//! into a user's home, and so that what the fuzzer needs does not decide what the others have. Versions are pinned: a test
//! that counts charges while a client retries must not change because the client did, and a seed gives the same calls
//! only in the same versions.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;

use super::slot::{create_dir, remove_dir};
use super::tool::Tool;
use super::{debian, process};

/// A virtual environment.
pub(super) struct Python {
    name: &'static str,
    variable: &'static str,
    /// Its packages by name and version.
    pins: &'static [(&'static str, &'static str)],
}

/// The tool `python`.
///
/// `localstripe` runs on `aiohttp` and takes any version of it, and `stripe` does
/// the same with `requests`; the tests rely on what both do when a connection breaks.
pub(super) const STRIPE: Python = Python {
    name: "python",
    variable: "SEMEL_TEST_PYTHON",
    pins: &[
        ("aiohttp", "3.14.5"),
        ("localstripe", "1.15.10"),
        ("requests", "2.34.2"),
        ("stripe", "16.1.0"),
    ],
};

/// The tool `schemathesis`: it runs with `-m schemathesis.cli`.
pub(super) const SCHEMATHESIS: Python = Python {
    name: "schemathesis",
    variable: "SEMEL_TEST_SCHEMATHESIS",
    pins: &[
        ("hypothesis", "6.170.15"),
        ("jsonschema-rs", "0.60.3"),
        ("schemathesis", "4.32.5"),
    ],
};

/// The tool `mcp`: the official SDK of the Model Context Protocol, its server and its client.
pub(super) const MCP: Python = Python {
    name: "mcp",
    variable: "SEMEL_TEST_MCP",
    pins: &[("mcp", "2.3.0"), ("uvicorn", "0.54.0")],
};

/// Prints the version of each package that is named as an argument. A package that
/// cannot be imported is of no use, whatever its version.
const SAY_VERSIONS: &str = "\
import sys
from importlib import import_module
from importlib.metadata import version
for name in sys.argv[1:]:
    try:
        import_module(name.replace('-', '_'))
        print(name + '==' + version(name))
    except Exception as error:
        sys.exit('the package ' + name + ' does not work: ' + str(error))
";

impl Tool for Python {
    fn name(&self) -> &'static str {
        self.name
    }

    fn variable(&self) -> &'static str {
        self.variable
    }

    /// Any version will do in a Python that the user looks after.
    fn works(&self, program: &Path) -> Result<()> {
        self.versions(program).map(drop)
    }

    fn find(&self, dir: &Path) -> Option<PathBuf> {
        let program = program(dir);
        let is_right = self
            .versions(&program)
            .is_ok_and(|found| found == self.wanted());
        is_right.then_some(program)
    }

    fn install(&self, dir: &Path) -> Result<PathBuf> {
        let system = system_python()?;
        let venv = venv(dir);
        // What is there has other versions, or was interrupted half-way.
        remove_dir(&venv)?;
        create_dir(dir)?;
        process::output(isolated(&system).args(["-m", "venv"]).arg(&venv))?;
        let program = program(dir);
        let wanted = self.wanted();
        note(&format!("{}: fetching {}", self.name, wanted.join(" ")));
        let mut pip = isolated(&program);
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"]);
        pip.arg("--disable-pip-version-check").args(&wanted);
        process::output(&mut pip)?;
        self.find(dir).ok_or_else(|| {
            let expected = wanted.join(" ");
            Error::failed(format!("pip succeeded, but without {expected}"))
        })
    }
}

impl Python {
    fn wanted(&self) -> Vec<String> {
        let pins = self.pins.iter();
        pins.map(|(name, version)| format!("{name}=={version}"))
            .collect()
    }

    /// The versions that a Python has of its packages; fails if it lacks one.
    fn versions(&self, program: &Path) -> Result<Vec<String>> {
        let names = self.pins.iter().map(|(name, _)| name);
        let shown = process::output(isolated(program).args(["-c", SAY_VERSIONS]).args(names))?;
        Ok(shown.lines().map(str::to_owned).collect())
    }
}

fn venv(dir: &Path) -> PathBuf {
    dir.join("venv")
}

fn program(dir: &Path) -> PathBuf {
    venv(dir).join("bin").join("python")
}

/// A Python that can make virtual environments. Debian leaves that to a package of
/// its own, and the first `python3` in PATH need not be Debian's.
pub(super) fn system_python() -> Result<PathBuf> {
    let find = || {
        let candidates = ["python3", "/usr/bin/python3"].map(PathBuf::from);
        candidates.into_iter().find(|python| {
            let mut check = isolated(python);
            process::output(check.args(["-c", "import ensurepip, venv"])).is_ok()
        })
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    debian::install("python3-venv")?;
    find().ok_or_else(|| {
        Error::failed("the package python3-venv is installed, but python3 does not find it")
    })
}

/// Runs a Python without the user's own packages and variables.
pub(super) fn isolated(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("-I");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_without_the_packages_does_not_work() {
        for python in [STRIPE, SCHEMATHESIS, MCP] {
            assert!(python.works(Path::new("/nowhere/python")).is_err());
            assert!(python.works(Path::new("/bin/false")).is_err());
            assert!(python.find(Path::new("/nowhere")).is_none());
        }
    }

    #[test]
    fn every_package_is_pinned_to_one_version() {
        for pin in [STRIPE, SCHEMATHESIS, MCP].iter().flat_map(Python::wanted) {
            let (_, version) = pin.split_once("==").unwrap();
            let mut parts = version.split('.');
            assert!(parts.all(|part| part.parse::<u32>().is_ok()), "{pin}");
        }
    }
}
