//! Kills real processes on PostgreSQL and counts effects outside of them.

mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::Store;
use semel_testkit::crash::{Opening, Options};
use support::Schema;

/// Kills per policy; a process that connects and prepares its statements takes its time.
const KILLS: usize = 60;

fn open(_: PathBuf) -> Opening {
    Box::pin(async move {
        let store = Schema::of_crash_run().config().connect().await?;
        Ok(Arc::new(store) as Arc<dyn Store>)
    })
}

fn main() -> ExitCode {
    let options = Options::new("PostgreSQL").kills(KILLS);
    support::in_one_schema(|| semel_testkit::crash::main(options, open))
}
