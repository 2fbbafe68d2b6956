//! Kills real processes on the embedded store and counts effects outside of them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::Store;
use semel_sqlite::Config;
use semel_testkit::crash::Opening;

fn open(dir: PathBuf) -> Opening {
    Box::pin(async move {
        let store = Config::new(dir.join("semel.db")).open()?;
        Ok(Arc::new(store) as Arc<dyn Store>)
    })
}

fn main() -> ExitCode {
    semel_testkit::crash::main("SQLite", open)
}
