//! Installs packages on Debian and its relatives, for root only.
//!
//! It never asks anything and never upgrades what is already there.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::output::note;

use super::account::own_uid;
use super::process;

/// Installs `package`, or explains what the person has to do.
pub(crate) fn install(package: &str) -> Result<()> {
    let advice = format!("install it with `apt-get install {package}`, or an equivalent");
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(Error::failed(format!(
            "{package} is not installed: {advice}"
        )));
    }
    if own_uid()? != 0 {
        return Err(Error::failed(format!(
            "{package} is not installed, and only root can install it: {advice}"
        )));
    }
    note(&format!("installing the package {package}"));
    apt_get(&["update"])?;
    apt_get(&["install", "--yes", "--no-install-recommends", package])
}

/// Stops the service that a package has just brought along, and keeps it from coming
/// back when the machine starts.
pub(super) fn keep_off(service: &str) -> Result<()> {
    let mut disable = Command::new("update-rc.d");
    process::output(disable.args([service, "disable"]))?;
    let mut stop = Command::new("invoke-rc.d");
    process::output(stop.args(["--force", service, "stop"])).map(drop)
}

fn apt_get(args: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command
        .args(["--quiet", "-o", "Dpkg::Options::=--force-confold"])
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Keeps a settings file that was written before the package came.
        .env("UCF_FORCE_CONFFOLD", "1")
        .stdin(Stdio::null())
        // Our stdout is data for a shell.
        .stdout(Stdio::from(io::stderr()));
    let status = command.status().map_err(Error::when("run apt-get"))?;
    if status.success() {
        Ok(())
    } else {
        let args = args.join(" ");
        Err(Error::failed(format!(
            "`apt-get {args}` ended with {status}"
        )))
    }
}
