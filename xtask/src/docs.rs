//! Writes the pages of the documentation that are made from code.
//!
//! The test of such a page knows what it must say; with a variable set it writes the page, without it the test fails if the
//! page says something else. So this crate needs none of the code that the pages are made from.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};

/// Makes the tests write what they otherwise compare.
const WRITE: &str = "SEMEL_WRITE_DOCS";
/// Packages with such pages, and the tests that write them: a target, and what their names have in common.
const PAGES: [(&str, &str, &str); 2] = [
    ("semel-http", "problem_pages", ""),
    ("semel-cli", "cli", "the_page_about"),
];

/// Writes them all.
pub(crate) fn run(root: &Path) -> Result<()> {
    for (package, target, names) in PAGES {
        let mut write = Command::new("cargo");
        write.args([
            "test",
            "--quiet",
            "--package",
            package,
            "--test",
            target,
            names,
        ]);
        write.current_dir(root).env(WRITE, "1");
        let ended = write.status().map_err(Error::when("run cargo"))?;
        if !ended.success() {
            return Err(Error::failed(format!(
                "the pages of {package} cannot be written"
            )));
        }
    }
    Ok(())
}
