//! Where PostgreSQL's programs lie, and how they come to be there.
//!
//! Tests that make a replica or a dump of their own ask for the directory as a tool.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

use super::super::account::own_uid;
use super::super::debian;
use super::super::tool::Tool;

/// The tool `postgres-bin`: a directory of programs instead of a single one.
pub(in super::super) struct PostgresPrograms;

impl Tool for PostgresPrograms {
    fn name(&self) -> &'static str {
        "postgres-bin"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_POSTGRES_BIN"
    }

    fn works(&self, dir: &Path) -> Result<()> {
        if is_complete(dir) {
            Ok(())
        } else {
            let needed = NEEDED.join(", ");
            Err(Error::failed(format!("expected it to hold {needed}")))
        }
    }

    fn find(&self, _dir: &Path) -> Option<PathBuf> {
        Programs::find().map(|programs| programs.0)
    }

    fn install(&self, _dir: &Path) -> Result<PathBuf> {
        Programs::find_or_install().map(|programs| programs.0)
    }
}

const NEEDED: [&str; 5] = [
    "initdb",
    "pg_basebackup",
    "pg_ctl",
    "pg_isready",
    "postgres",
];

/// The directory with the server's programs.
pub(super) struct Programs(PathBuf);

impl Programs {
    pub(super) fn find_or_install() -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        avoid_a_default_cluster()?;
        debian::install("postgresql")?;
        Self::find().ok_or_else(|| {
            Error::failed("the package postgresql is installed, but initdb is not to be found")
        })
    }

    /// Debian keeps each version in a directory of its own, outside of PATH.
    fn find() -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let newest = versions
            .flatten()
            .filter_map(|entry| {
                let version: u32 = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(_, bin)| is_complete(bin))
            .max();
        if let Some((_, bin)) = newest {
            return Some(Self(bin));
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .find(|dir| is_complete(dir))
            .map(Self)
    }

    pub(super) fn path(&self, program: &str) -> PathBuf {
        self.0.join(program)
    }
}

fn is_complete(bin: &Path) -> bool {
    NEEDED.iter().all(|program| bin.join(program).exists())
}

/// Keeps Debian's package from creating and starting a cluster of its own. Settings
/// that somebody made earlier are left alone.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_programs_does_not_do() {
        let error = PostgresPrograms.works(Path::new("/nowhere")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("expected it to hold initdb, ")
        );
    }
}
