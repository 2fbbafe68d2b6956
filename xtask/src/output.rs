//! Where words go: data to stdout, everything else to stderr.
//!
//! The print macros are not used because they panic when the reader has gone
//! away, and a run must still stop its services when its output is cut off.

use std::io::{self, Write};

use crate::error::{Error, Result};

/// Says something to the person watching; a lost listener is not a failure.
pub(crate) fn note(message: &str) {
    let _ = io::stderr().write_all(format!("{message}\n").as_bytes());
}

/// Prints one line of data. Data that cannot be delivered is a failure.
pub(crate) fn data(line: &str) -> Result<()> {
    let line = format!("{line}\n");
    io::stdout()
        .write_all(line.as_bytes())
        .map_err(Error::when("write to stdout"))
}
