//! Puts files where they belong before they are packed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::output;
use crate::services::find_program;

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
    pub(super) fn program(&self, to: &str, from: &Path) -> Result<()> {
        let path = self.place(to)?;
        fs::copy(from, &path).map_err(Error::at("copy", from))?;
        if let Some(strip) = find_program("strip") {
            output(Command::new(strip).arg("--strip-unneeded").arg(&path))?;
        }
        chmod(&path, 0o755)
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
