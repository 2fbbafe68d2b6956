//! Makes what people install: a static archive and a Debian package, by one command.
//!
//! The program is built for musl, so that it runs on any Linux of its architecture, whatever its C library. What goes beside it lies in
//! `packaging/`. Nothing is signed or uploaded.

mod archive;
mod debian;
mod elf;
mod options;
mod program;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::{data, note};
use crate::packages;
use crate::services::remove_dir;

use options::Options;
use program::Program;

/// The package whose program it is about.
const PACKAGE: &str = "semel-cli";

/// What is made, and from what.
struct Dist<'a> {
    root: &'a Path,
    version: String,
    program: Program,
    out: PathBuf,
    /// Small files matter more than time.
    thorough: bool,
}

/// Makes them, and prints their paths.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let options = Options::parse(root, args)?;
    let program = program::provide(root, &options)?;
    let dist = Dist {
        root,
        version: version(root)?,
        program,
        thorough: options.profile == options::RELEASE,
        out: options.out,
    };
    fs::create_dir_all(&dist.out).map_err(Error::at("create", &dist.out))?;
    if !dist.program.is_static {
        note("the program is linked dynamically: it needs this machine's C library or a newer one");
    }
    let work = dist.out.join("work");
    remove_dir(&work)?;
    for made in [archive::make(&dist, &work)?, debian::make(&dist, &work)?] {
        data(&made.display().to_string())?;
    }
    remove_dir(&work)
}

fn version(root: &Path) -> Result<String> {
    let packages = packages::read(root)?;
    let found = packages.into_iter().find(|package| package.name == PACKAGE);
    found
        .map(|package| package.version)
        .ok_or_else(|| Error::failed(format!("there is no package {PACKAGE}")))
}

impl Dist<'_> {
    /// A file of the repository.
    fn file(&self, name: &str) -> Result<String> {
        let path = self.root.join(name);
        fs::read_to_string(&path).map_err(Error::at("read", &path))
    }
}
