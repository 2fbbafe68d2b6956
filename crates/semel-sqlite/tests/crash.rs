//! Kills real processes on the embedded store and counts effects outside of them.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::Store;
use semel_sqlite::Config;

fn open(dir: &Path) -> Arc<dyn Store> {
    Arc::new(
        Config::new(dir.join("semel.db"))
            .open()
            .expect("the store opens"),
    )
}

fn main() -> ExitCode {
    semel_testkit::crash::main(open)
}
