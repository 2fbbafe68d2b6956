//! PgBouncer from the system's packages: the pooler that many applications reach their
//! PostgreSQL through.
//!
//! It is only found or installed. A test starts it with settings of its own, and the
//! service that the package brings along stays off.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

use super::tool::Tool;
use super::{debian, process, program};

const PROGRAM: &str = "pgbouncer";

/// The tool `pgbouncer`.
pub(super) struct PgBouncer;

impl Tool for PgBouncer {
    fn name(&self) -> &'static str {
        "pgbouncer"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_PGBOUNCER"
    }

    fn works(&self, program: &Path) -> Result<()> {
        process::output(Command::new(program).arg("--version")).map(drop)
    }

    fn find(&self, _dir: &Path) -> Option<PathBuf> {
        program::find(PROGRAM)
    }

    fn install(&self, dir: &Path) -> Result<PathBuf> {
        debian::install(PROGRAM)?;
        debian::keep_off(PROGRAM)?;
        self.find(dir).ok_or_else(|| {
            Error::failed("the package pgbouncer is installed, but the program is not to be found")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_fails_does_not_work() {
        assert!(PgBouncer.works(Path::new("/nowhere/pgbouncer")).is_err());
        assert!(PgBouncer.works(Path::new("/bin/false")).is_err());
        assert!(PgBouncer.works(Path::new("/bin/true")).is_ok());
    }
}
