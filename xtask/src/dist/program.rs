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

/// What released programs have beyond the usual: Kafka's TLS and SCRAM, by an OpenSSL that is in the program.
const FEATURES: &str = "kafka-tls-vendored";

/// A program, and what is known about it.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// The same for this machine: it says what completions and manual pages are.
    pub(super) runnable: PathBuf,
    /// What takes from it what only debuggers read, where there is a program for its architecture.
    pub(super) strip: Option<PathBuf>,
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
        None => build(root, &options.profile, &target, &host)?,
    };
    let bytes = fs::read(&path).map_err(Error::at("read", &path))?;
    let arch = arch(&target).to_owned();
    let (runnable, strip) = match is_native(&target, &host) {
        true => (path.clone(), find_program("strip")),
        false => (
            build_runnable(root)?,
            find_program(&format!("{arch}-linux-gnu-strip")),
        ),
    };
    Ok(Program {
        is_static: elf::is_static(&bytes)?,
        arch,
        path,
        runnable,
        strip,
    })
}

/// Whether programs for `target` run on this machine, whatever their C library.
fn is_native(target: &str, host: &str) -> bool {
    arch(target) == arch(host) && target.contains("-linux-")
}

/// A program for another architecture cannot be asked for its completions and pages, so another build of it is.
fn build_runnable(root: &Path) -> Result<PathBuf> {
    note(
        "the program does not run on this machine: a build that does says its completions and manual pages",
    );
    let mut build = cargo(root, &["build", "--locked", "--package", PACKAGE]);
    let ended = build.status().map_err(Error::when("run cargo"))?;
    match ended.success() {
        true => Ok(built_into(root).join("debug/semel")),
        false => Err(Error::failed(format!("cargo build ended with {ended}"))),
    }
}

/// Cargo's directory.
fn built_into(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn arch(target: &str) -> &str {
    target.split('-').next().unwrap_or(target)
}

fn build(root: &Path, profile: &str, target: &str, host: &str) -> Result<PathBuf> {
    let is_musl = target.ends_with("-musl");
    let mut build = cargo(root, &["build", "--locked", "--package", PACKAGE]);
    build.args(["--features", FEATURES, "--profile", profile]);
    build.args(["--target", target]);
    // OpenSSL's own build is written in it.
    required("perl", "perl")?;
    if is_musl {
        add_target(target)?;
    }
    // A compiler for another architecture is named by the person who has one.
    if is_musl && is_native(target, host) {
        // SQLite, ring, OpenSSL, librdkafka and the allocator are C.
        let compiler = required("musl-gcc", "musl-tools")?;
        let variable = format!("CC_{}", target.replace('-', "_"));
        build.env(variable, &compiler);
        // The build of librdkafka knows this variable only, and what runs on this machine is none of its business.
        build.env("CC", compiler).env("HOST_CC", "cc");
    }
    note(&format!("building for {target} with the profile {profile}"));
    let ended = build.status().map_err(Error::when("run cargo"))?;
    if !ended.success() {
        return Err(Error::failed(format!("cargo build ended with {ended}")));
    }
    // Cargo names the directory of this one profile otherwise.
    let dir = if profile == "dev" { "debug" } else { profile };
    let built = built_into(root).join(target).join(dir).join("semel");
    let bytes = fs::read(&built).map_err(Error::at("read", &built))?;
    match !is_musl || elf::is_static(&bytes)? {
        true => Ok(built),
        false => Err(Error::failed(format!(
            "expected a static program, and {} asks for an interpreter",
            built.display()
        ))),
    }
}

/// A program of this machine, from a package of Debian if it is not there.
fn required(name: &str, package: &str) -> Result<PathBuf> {
    if find_program(name).is_none() {
        install_package(package)?;
    }
    find_program(name)
        .ok_or_else(|| Error::failed(format!("the package {package} brought no {name}")))
}

/// A toolchain that was installed without rustup has what it has, and cargo says what is missing.
fn add_target(target: &str) -> Result<()> {
    match find_program("rustup") {
        Some(rustup) => output(Command::new(rustup).args(["target", "add", target])).map(drop),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_on_linux_of_its_own_architecture() {
        let host = "x86_64-unknown-linux-gnu";
        for (target, expected) in [
            ("x86_64-unknown-linux-musl", true),
            (host, true),
            ("aarch64-unknown-linux-musl", false),
            ("x86_64-unknown-freebsd", false),
        ] {
            assert_eq!(is_native(target, host), expected, "{target}");
        }
    }
}
