//! The program that is shipped: built, or brought along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;
use crate::packages;
use crate::process::output;
use crate::services::{find_program, install_package};
use crate::workspace::cargo;

use super::options::Options;
use super::{PACKAGE, elf};

/// A program, and what is known about it.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// The architecture as compilers name it, such as x86_64.
    pub(super) arch: String,
    pub(super) is_static: bool,
}

/// Builds it, unless the command line names one.
pub(super) fn provide(root: &Path, options: &Options) -> Result<Program> {
    let host = packages::host()?;
    let target = match &options.target {
        Some(target) => target.clone(),
        None => format!("{}-unknown-linux-musl", arch(&host)),
    };
    let path = match &options.binary {
        Some(path) => path.clone(),
        None => build(root, &options.profile, &target)?,
    };
    let bytes = fs::read(&path).map_err(Error::at("read", &path))?;
    Ok(Program {
        is_static: elf::is_static(&bytes)?,
        arch: arch(&target).to_owned(),
        path,
    })
}

fn arch(target: &str) -> &str {
    target.split('-').next().unwrap_or(target)
}

fn build(root: &Path, profile: &str, target: &str) -> Result<PathBuf> {
    let is_musl = target.ends_with("-musl");
    let mut build = cargo(root, &["build", "--locked", "--package", PACKAGE]);
    build.args(["--profile", profile, "--target", target]);
    if is_musl {
        // SQLite, ring and the allocator are C.
        let compiler = musl_compiler()?;
        add_target(target)?;
        let variable = format!("CC_{}", target.replace('-', "_"));
        build.env(variable, compiler);
    }
    note(&format!("building for {target} with the profile {profile}"));
    let ended = build.status().map_err(Error::when("run cargo"))?;
    if !ended.success() {
        return Err(Error::failed(format!("cargo build ended with {ended}")));
    }
    // Cargo names the directory of this one profile otherwise.
    let dir = if profile == "dev" { "debug" } else { profile };
    let base =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let built = base.join(target).join(dir).join("semel");
    let bytes = fs::read(&built).map_err(Error::at("read", &built))?;
    match !is_musl || elf::is_static(&bytes)? {
        true => Ok(built),
        false => Err(Error::failed(format!(
            "expected a static program, and {} asks for an interpreter",
            built.display()
        ))),
    }
}

fn musl_compiler() -> Result<PathBuf> {
    const NAME: &str = "musl-gcc";
    if find_program(NAME).is_none() {
        install_package("musl-tools")?;
    }
    find_program(NAME).ok_or_else(|| Error::failed("the package musl-tools brought no musl-gcc"))
}

/// A toolchain that was installed without rustup has what it has, and cargo says what is missing.
fn add_target(target: &str) -> Result<()> {
    match find_program("rustup") {
        Some(rustup) => output(Command::new(rustup).args(["target", "add", target])).map(drop),
        None => Ok(()),
    }
}
