//! A store in a file.

use std::path::Path;
use std::sync::Arc;

use semel_core::SystemClock;
use semel_policy::value::Address;
use semel_sqlite::{Config, SqliteStore};

use super::{Opening, Part};
use crate::error::{Error, Result};
use crate::exit::Exit;

pub(super) fn open(
    address: &Address,
    opening: &Opening,
    part: &'static str,
) -> Result<Part<SqliteStore>> {
    let path = Path::new(address.path().unwrap_or_default());
    let clock = Arc::new(SystemClock::new());
    let config = Config::new(path)
        .clock(clock.clone())
        .busy_timeout(opening.busy_timeout);
    let config = match opening.watch(part) {
        Some(watch) => config.watch(watch),
        None => {
            must_be_a_file(path)?;
            config.readers(1).sweep_every(None).must_exist()
        }
    };
    let store = config
        .open()
        .map_err(|error| Error::from(error).when(&format!("cannot open {}", path.display())))?;
    let store = Arc::new(store);
    Ok(Part { store, clock })
}

fn must_be_a_file(path: &Path) -> Result<()> {
    let shown = path.display();
    let found = match path.metadata() {
        Ok(metadata) if metadata.is_dir() => format!("{shown} is a directory, expected a file"),
        Ok(_) => return Ok(()),
        Err(error) => format!("cannot find the store at {shown}: {error}"),
    };
    Err(Error::new(Exit::Configuration, found)
        .hint("name the store with --store sqlite:PATH, in SEMEL_STORE or in semel.yaml; its path is relative to the working directory"))
}

/// The version of SQLite in this build.
pub(crate) fn version() -> &'static str {
    semel_sqlite::sqlite_version()
}
