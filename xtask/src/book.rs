//! Builds the book from `docs/`, with mdBook.
//!
//! Links are checked by tidy, in every run and without mdBook; pages that are made from code by the tests that know what they say.

use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::services::{MDBOOK, installed};

/// The command that writes the book to `target/book`.
pub(crate) fn build(root: &Path) -> Result<Command> {
    let mut build = Command::new(installed(&MDBOOK, root)?);
    build.args(["build", "--dest-dir", "target/book"]);
    build.current_dir(root);
    Ok(build)
}

/// Writes it.
pub(crate) fn run(root: &Path) -> Result<()> {
    crate::docs::run(root)?;
    crate::process::output(&mut build(root)?)?;
    crate::output::note("the book is in target/book/index.html");
    Ok(())
}
