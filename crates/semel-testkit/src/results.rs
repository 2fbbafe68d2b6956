//! What the tests of this run found, written down for the table that the test command prints.
//!
//! The variable `SEMEL_TEST_RESULTS` names a directory; without it nothing is written. Each store has a
//! file there, and a result is one line, appended by one write: tests of many processes write at once.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

const VARIABLE: &str = "SEMEL_TEST_RESULTS";

/// Writes down `kind store`, then the fields, with tabs between them.
pub fn record(kind: &str, store: &str, fields: &[String]) {
    let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) else {
        return;
    };
    let path = PathBuf::from(dir).join(format!("{}.tsv", file_name(store)));
    let line = format!("{kind} {store}\t{}\n", fields.join("\t"));
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("{VARIABLE} names a directory for results, found {error} at {path:?}");
    }
}

/// The store's name, as far as every file system takes it.
fn file_name(store: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    store.to_lowercase().chars().map(plain).collect()
}
