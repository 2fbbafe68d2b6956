//! Kills real processes on a hybrid and counts effects outside of them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::Store;
use semel_hybrid::Hybrid;
use semel_sqlite::Config;
use semel_testkit::crash::Opening;

fn open(dir: PathBuf) -> Opening {
    Box::pin(async move {
        let fast = Config::new(dir.join("claims.db")).open()?;
        let durable = Config::new(dir.join("outcomes.db")).open()?;
        let hybrid = Hybrid::new(Arc::new(fast), Arc::new(durable));
        Ok(Arc::new(hybrid) as Arc<dyn Store>)
    })
}

fn main() -> ExitCode {
    semel_testkit::crash::main("hybrid of SQLite and SQLite", open)
}
