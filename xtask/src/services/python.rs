//! A Python with the packages that the tests drive: Stripe's own client, and a
//! stateful stand-in for Stripe's servers.
//!
//! It is a virtual environment in the workspace, so that nothing is installed into
//! the system's Python or into anybody's home. Versions are pinned: a test that counts
//! charges while a client retries must not change because the client did.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;

use super::slot::{create_dir, remove_dir};
use super::tool::Tool;
use super::{debian, process};

/// The packages by name and version.
///
/// `localstripe` runs on `aiohttp` and takes any version of it, and `stripe` does
/// the same with `requests`; the tests rely on what both do when a connection breaks.
const PINS: [(&str, &str); 4] = [
    ("aiohttp", "3.14.5"),
    ("localstripe", "1.15.10"),
    ("requests", "2.34.2"),
    ("stripe", "16.1.0"),
];

/// Prints the version of each package that is named as an argument. A package that
/// cannot be imported is of no use, whatever its version.
const SAY_VERSIONS: &str = "\
import sys
from importlib import import_module
from importlib.metadata import version
for name in sys.argv[1:]:
    try:
        import_module(name)
        print(name + '==' + version(name))
    except Exception as error:
        sys.exit('the package ' + name + ' does not work: ' + str(error))
";

/// The tool `python`.
pub(super) struct Python;

impl Tool for Python {
    fn name(&self) -> &'static str {
        "python"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_PYTHON"
    }

    /// Any version will do in a Python that somebody else looks after.
    fn works(&self, program: &Path) -> Result<()> {
        versions(program).map(drop)
    }

    fn find(&self, dir: &Path) -> Option<PathBuf> {
        let program = program(dir);
        let is_right = versions(&program).is_ok_and(|found| found == wanted());
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
        note(&format!("python: fetching {}", wanted().join(" ")));
        let mut pip = isolated(&program);
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
        assert!(Python.works(Path::new("/nowhere/python")).is_err());
        assert!(Python.works(Path::new("/bin/false")).is_err());
        assert!(Python.find(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn every_package_is_pinned_to_one_version() {
        for pin in wanted() {
            let (_, version) = pin.split_once("==").unwrap();
            let mut parts = version.split('.');
            assert!(parts.all(|part| part.parse::<u32>().is_ok()), "{pin}");
        }
    }
}
