//! nginx from the system's packages: the plain proxy that benchmarks compare with.
//!
//! It is only found or installed. Whoever measures with it starts it with settings of
//! their own, and the service that the package brings along stays off.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

use super::tool::Tool;
use super::{debian, process, program};

const PROGRAM: &str = "nginx";

/// The tool `nginx`.
pub(super) struct Nginx;

impl Tool for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_BENCH_NGINX"
    }

    fn works(&self, program: &Path) -> Result<()> {
        process::output(Command::new(program).arg("-v")).map(drop)
    }

    fn find(&self, _dir: &Path) -> Option<PathBuf> {
        program::find(PROGRAM)
    }

    fn install(&self, dir: &Path) -> Result<PathBuf> {
        debian::install(PROGRAM)?;
        debian::keep_off(PROGRAM)?;
        self.find(dir).ok_or_else(|| {
            Error::failed("the package nginx is installed, but the program is not to be found")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_fails_does_not_work() {
        assert!(Nginx.works(Path::new("/nowhere/nginx")).is_err());
        assert!(Nginx.works(Path::new("/bin/false")).is_err());
        assert!(Nginx.works(Path::new("/bin/true")).is_ok());
    }
}
