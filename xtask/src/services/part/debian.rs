//! Installs packages on Debian and its relatives, for root only.
//!
//! It never asks anything and never upgrades what is already there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::output::note;
use crate::process;

use super::super::account::own_uid;
use super::super::{hold, program};

/// Installs `package`, or explains what the person has to do.
pub(crate) fn install(package: &str) -> Result<()> {
    install_unless(package, || false)
}

/// Installs `package` unless it is there by the time that no other installation runs.
pub(super) fn install_unless(package: &str, is_there: impl Fn() -> bool) -> Result<()> {
    if is_there() {
        return Ok(());
    }
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
    let _held = hold::on_machine("apt")?;
    if is_there() {
        return Ok(());
    }
    note(&format!("installing the package {package}"));
    let install = ["install", "--yes", "--no-install-recommends", package];
    // The lists may be old or missing, which most often they are not.
    apt_get(&install).or_else(|_| {
        apt_get(&["update"])?;
        apt_get(&install)
    })
}

/// The same for a package that starts a service of its own name: its installation does not start it where systemd would, and it
/// does not come back when the machine starts.
pub(super) fn install_service(name: &str) -> Result<()> {
    let run = |program: &str, args: &[&str]| process::output(Command::new(program).args(args));
    let has_systemd = Path::new("/run/systemd/system").exists();
    if has_systemd {
        // If it fails, the service is stopped after the installation.
        let _ = run("systemctl", &["mask", "--runtime", name]);
    }
    let installed = install_unless(name, || program::find(name).is_some()).and_then(|()| {
        run("update-rc.d", &[name, "disable"])?;
        run("invoke-rc.d", &["--force", name, "stop"])
    });
    if has_systemd {
        let _ = run("systemctl", &["unmask", "--runtime", name]);
    }
    installed.map(drop)
}

fn apt_get(args: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command
        .args(["--quiet", "-o", "Dpkg::Options::=--force-confold"])
        // Another program may be installing something.
        .args(["-o", "DPkg::Lock::Timeout=300"])
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Keeps a settings file that was written before the package came.
        .env("UCF_FORCE_CONFFOLD", "1")
        .stdin(Stdio::null());
    process::output(&mut command).map(drop)
}
