//! Virtual environments with packages of PyPI. Each is one of its own, so that what one needs does not decide what the
//! others have.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process;

use super::debian;

/// Imports modules and prints versions of packages: the arguments up to `--`, and those after it.
const SAY_VERSIONS: &str = "\
import sys
from importlib import import_module
from importlib.metadata import version
end = sys.argv.index('--')
for name in sys.argv[1:end]:
    try:
        import_module(name)
    except Exception as error:
        sys.exit('the module ' + name + ' does not work: ' + str(error))
for name in sys.argv[end + 1:]:
    print(name + '==' + version(name))
";

/// Fails if `python` lacks one of the packages; says whether all have the pinned versions.
pub(super) fn check(python: &Path, pins: &str, modules: &str) -> Result<bool> {
    let packages = pins.split(' ').filter_map(|pin| pin.split("==").next());
    let mut say = isolated(python);
    say.args(["-c", SAY_VERSIONS])
        .args(modules.split_whitespace())
        .arg("--")
        .args(packages);
    let shown = process::output(&mut say)?;
    if shown.is_empty() {
        return Err(Error::failed("it is not a Python"));
    }
    Ok(shown.lines().eq(pins.split(' ')))
}

pub(super) fn install(venv: &Path, pins: &str) -> Result<()> {
    let system = system_python()?;
    process::output(isolated(&system).args(["-m", "venv"]).arg(venv))?;
    super::fetching(pins);
    let mut pip = isolated(&venv.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"]);
    pip.arg("--disable-pip-version-check").args(pins.split(' '));
    process::output(&mut pip).map(drop)
}

/// A Python that can make virtual environments. Debian leaves that to a package of
/// its own, and the first `python3` in PATH need not be Debian's.
fn system_python() -> Result<PathBuf> {
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
    debian::install_unless("python3-venv", || find().is_some())?;
    find().ok_or_else(|| {
        Error::failed("the package python3-venv is installed, but python3 does not find it")
    })
}

/// Runs a Python without the user's own packages and variables.
fn isolated(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("-I");
    command
}
