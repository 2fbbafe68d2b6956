//! Where PostgreSQL's programs lie, and how they come to be there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

use super::super::account::own_uid;
use super::debian;

const NEEDED: [&str; 4] = ["initdb", "pg_basebackup", "pg_ctl", "postgres"];

/// Fails unless the directory has all programs.
pub(super) fn check(bin: &Path) -> Result<()> {
    if NEEDED.iter().all(|program| bin.join(program).exists()) {
        return Ok(());
    }
    let needed = NEEDED.join(", ");
    Err(Error::failed(format!("expected it to hold {needed}")))
}

/// Debian keeps each version in a directory of its own, outside of PATH.
pub(super) fn find() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let newest = versions
        .flatten()
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, bin)| check(bin).is_ok())
        .max();
    if let Some((_, bin)) = newest {
        return Some(bin);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|dir| check(dir).is_ok())
}

pub(super) fn install() -> Result<()> {
    avoid_a_default_cluster()?;
    debian::install_unless("postgresql", || find().is_some())
}

/// Keeps Debian's package from creating and starting a cluster of its own. Settings
/// that were made earlier are left alone.
fn avoid_a_default_cluster() -> Result<()> {
    let dir = Path::new("/etc/postgresql-common");
    let file = dir.join("createcluster.conf");
    let may_write = own_uid()? == 0 && Path::new("/usr/bin/apt-get").exists();
    if !may_write || file.exists() {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(Error::at("create", dir))?;
    fs::write(&file, "create_main_cluster = false\n").map_err(Error::at("write", &file))
}
