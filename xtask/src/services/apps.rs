//! What the services behind the gateway are written with: Express for Node.js, Flask for Python.
//!
//! Both lie in one directory of the workspace, `node_modules` and `venv`; nothing is installed into the system's Node.js
//! or Python. Versions are pinned: how leniently they read paths is what the tests are about.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;

use super::python::{isolated, system_python};
use super::slot::{create_dir, remove_dir};
use super::tool::Tool;
use super::{debian, process, program};

const EXPRESS: &str = "5.3.0";
const FLASK: &str = "3.1.3";

/// The tool `apps`.
pub(super) struct Apps;

impl Tool for Apps {
    fn name(&self) -> &'static str {
        "apps"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_APPS"
    }

    /// Any version will do in a directory that the user looks after.
    fn works(&self, dir: &Path) -> Result<()> {
        express(dir)?;
        flask(dir).map(drop)
    }

    fn find(&self, dir: &Path) -> Option<PathBuf> {
        let is_right = express(dir).is_ok_and(|found| found == EXPRESS)
            && flask(dir).is_ok_and(|found| found == FLASK);
        is_right.then(|| dir.to_owned())
    }

    fn install(&self, dir: &Path) -> Result<PathBuf> {
        // What is there has other versions, or was interrupted half-way.
        remove_dir(dir)?;
        create_dir(dir)?;
        note(&format!(
            "apps: fetching express@{EXPRESS} and flask=={FLASK}"
        ));
        install_express(dir)?;
        install_flask(dir)?;
        self.find(dir)
            .ok_or_else(|| Error::failed("npm and pip succeeded, but without express or flask"))
    }
}

fn install_express(dir: &Path) -> Result<()> {
    for package in ["nodejs", "npm"] {
        let name = if package == "npm" { "npm" } else { "node" };
        if program::find(name).is_none() {
            debian::install(package)?;
        }
    }
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
    ]);
    npm.arg(dir).arg(format!("express@{EXPRESS}"));
    process::output(&mut npm).map(drop)
}

fn install_flask(dir: &Path) -> Result<()> {
    let venv = dir.join("venv");
    process::output(isolated(&system_python()?).args(["-m", "venv"]).arg(&venv))?;
    let mut pip = isolated(&python(dir));
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"]);
    pip.arg("--disable-pip-version-check")
        .arg(format!("flask=={FLASK}"));
    process::output(&mut pip).map(drop)
}

fn python(dir: &Path) -> PathBuf {
    dir.join("venv").join("bin").join("python")
}

/// The version of Express; fails if it cannot be loaded.
fn express(dir: &Path) -> Result<String> {
    let mut node = Command::new("node");
    node.env("NODE_PATH", dir.join("node_modules"));
    node.args([
        "-e",
        "require('express'); console.log(require('express/package.json').version)",
    ]);
    process::output(&mut node).map(|said| said.trim().to_owned())
}

/// The version of Flask; fails if it cannot be imported.
fn flask(dir: &Path) -> Result<String> {
    let script = "import flask, importlib.metadata as m; print(m.version('flask'))";
    let said = process::output(isolated(&python(dir)).args(["-c", script]))?;
    Ok(said.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_packages_does_not_do() {
        assert!(Apps.works(Path::new("/nowhere")).is_err());
        assert!(Apps.find(Path::new("/nowhere")).is_none());
    }
}
