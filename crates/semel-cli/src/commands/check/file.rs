//! The checks of a store that is a file, or has one.

use std::fs::OpenOptions;
use std::path::Path;

use super::{Found, bad};
use crate::{stores, text};

/// Older versions can damage a file whose log is started over while others read it.
const SQLITE_MIN: [u32; 3] = [3, 51, 3];

/// Whether SQLite is one that can be trusted.
pub(super) fn sqlite() -> Found {
    let version = stores::sqlite_version();
    let parts: Vec<u32> = version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    match parts.as_slice() >= SQLITE_MIN.as_slice() {
        true => Ok((format!("version {version}"), ())),
        false => Err(
            bad(format!("expected SQLite 3.51.3 or later, found {version}"))
                .hint("build semel with the SQLite that it brings along"),
        ),
    }
}

/// Looks at the file before SQLite does: closing it later would drop SQLite's locks.
pub(super) fn existing(path: &Path) -> Found {
    let shown = path.display();
    let metadata = path.metadata().map_err(|error| {
        bad(format!("{shown} cannot be found: {error}")).hint(
            "a program that runs on the store creates it; --store or SEMEL_STORE names another",
        )
    })?;
    if !metadata.is_file() {
        return Err(
            bad(format!("{shown} is not a file")).hint("name a file in --store sqlite:PATH")
        );
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| {
            bad(format!("{shown} cannot be written: {error}"))
                .hint("give this user the right to write the file and its directory")
        })?;
    Ok((
        format!("{shown}, {}, can be written", text::bytes(metadata.len())),
        (),
    ))
}

/// A store that is to be made needs a directory to be in.
pub(super) fn new(path: &Path) -> Found {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let shown = path.display();
    match directory.is_dir() {
        true => Ok((
            format!("{shown} does not exist yet, semel serve creates it"),
            (),
        )),
        false => Err(bad(format!("{} is not a directory", directory.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_build_has_a_good_sqlite() {
        assert!(sqlite().is_ok());
    }
}
