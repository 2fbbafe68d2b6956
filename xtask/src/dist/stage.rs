//! Puts files where they belong before they are packed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::output;

use super::program::Program;

/// Where a package has what the program says about itself.
pub(super) struct Help {
    /// Shells, and the files that complete for them.
    pub(super) completions: [(&'static str, &'static str); 3],
    /// The directory of the manual pages.
    pub(super) man: &'static str,
    pub(super) compressed: bool,
}

/// A directory that becomes a package.
pub(super) struct Stage {
    pub(super) dir: PathBuf,
}

impl Stage {
    pub(super) fn new(dir: PathBuf) -> Result<Self> {
        fs::create_dir_all(&dir).map_err(Error::at("create", &dir))?;
        open(&dir)?;
        Ok(Self { dir })
    }

    /// Writes a file.
    pub(super) fn write(&self, to: &str, bytes: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        let path = self.place(to)?;
        fs::write(&path, bytes).map_err(Error::at("write", &path))?;
        chmod(&path, mode)
    }

    /// Copies the program, without what only debuggers read.
    pub(super) fn program(&self, to: &str, from: &Program) -> Result<()> {
        let path = self.place(to)?;
        fs::copy(&from.path, &path).map_err(Error::at("copy", &from.path))?;
        if let Some(strip) = &from.strip {
            output(Command::new(strip).arg("--strip-unneeded").arg(&path))?;
        }
        chmod(&path, 0o755)
    }

    /// Writes what the program says about itself: completions of the shells, as files of these names, and a manual page for each verb.
    pub(super) fn help(&self, program: &Path, places: &Help) -> Result<()> {
        for (shell, to) in places.completions {
            let script = output(Command::new(program).args(["completions", shell]))?;
            self.write(to, script, 0o644)?;
        }
        let man = self.dir.join(places.man);
        self.place(&format!("{}/semel.1", places.man))?;
        output(Command::new(program).args(["man", "--out"]).arg(&man))?;
        for entry in fs::read_dir(&man).map_err(Error::at("read", &man))? {
            let page = entry.map_err(Error::at("read", &man))?.path();
            chmod(&page, 0o644)?;
            if places.compressed {
                output(Command::new("gzip").args(["-9", "--no-name"]).arg(&page))?;
            }
        }
        Ok(())
    }

    /// The umask of the build may be strict; what is installed can be read by all.
    fn place(&self, to: &str) -> Result<PathBuf> {
        let path = self.dir.join(to);
        let mut dir = self.dir.clone();
        for part in Path::new(to).parent().into_iter().flat_map(Path::iter) {
            dir.push(part);
            fs::create_dir_all(&dir).map_err(Error::at("create", &dir))?;
            open(&dir)?;
        }
        Ok(path)
    }
}

fn open(dir: &Path) -> Result<()> {
    chmod(dir, 0o755)
}

fn chmod(path: &Path, mode: u32) -> Result<()> {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(Error::at("set the mode of", path))
}
