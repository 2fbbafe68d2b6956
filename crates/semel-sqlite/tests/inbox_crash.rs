//! Kills real processes that work on the embedded store's inbox and counts effects outside of them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_sqlite::Config;
use semel_testkit::inbox_crash::{Opened, Opening, Options};

fn open(dir: PathBuf) -> Opening<Opened> {
    Box::pin(async move {
        let store = Arc::new(Config::new(dir.join("semel.db")).open()?);
        Ok((store.clone() as _, store as _))
    })
}

fn main() -> ExitCode {
    semel_testkit::inbox_crash::main(Options::new("SQLite").kills(250), open)
}
