//! Modules for Node.js, in a directory of the workspace.

use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::process;

use super::super::program;
use super::debian;

/// Loads the module from a `node_modules` and compares its version.
pub(super) fn check(modules: &Path, name: &str, version: &str) -> Result<bool> {
    let script = format!("require('{name}'); console.log(require('{name}/package.json').version)");
    let mut node = Command::new("node");
    node.env("NODE_PATH", modules).args(["-e", &script]);
    Ok(process::output(&mut node)?.trim() == version)
}

pub(super) fn install(dir: &Path, name: &str, version: &str) -> Result<()> {
    for (package, program) in [("nodejs", "node"), ("npm", "npm")] {
        debian::install_unless(package, || program::find(program).is_some())?;
    }
    super::fetching(&format!("{name}@{version}"));
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    ]);
    npm.arg("--prefix")
        .arg(dir)
        .arg(format!("{name}@{version}"));
    process::output(&mut npm).map(drop)
}
