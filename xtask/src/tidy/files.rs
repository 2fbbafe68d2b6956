//! The files that belong to the repository: tracked, or new and not ignored.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};

/// Text files by their path from the root, with `/` between the parts.
pub(super) type Files = BTreeMap<String, String>;

/// Reads every text file of the repository.
pub(super) fn read(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for path in list(root)? {
        if let Some(text) = read_text(root, &path)? {
            files.insert(path, text);
        }
    }
    Ok(files)
}

fn list(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others"])
        .arg("--exclude-standard")
        .current_dir(root)
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::failed(
                "tidy asks git which files belong to the repository, and git is not installed",
            ),
            _ => Error::failed(format!("cannot run git: {error}")),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        return Err(Error::failed(format!(
            "tidy asks git which files belong to the repository: {said}"
        )));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    Ok(paths.map(str::to_owned).collect())
}

/// Nothing for a file that is not text, is a directory, or was just deleted.
fn read_text(root: &Path, path: &str) -> Result<Option<String>> {
    let full = root.join(path);
    match fs::read(&full) {
        Ok(bytes) => Ok(String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'))),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Ok(None),
            _ => Err(Error::at("read", &full)(error)),
        },
    }
}
