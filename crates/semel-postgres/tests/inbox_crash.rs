//! Kills real processes that work on the inbox on PostgreSQL and counts effects outside of them.

mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_testkit::inbox_crash::{Opened, Opening, Options};
use support::Schema;

/// A process that connects and prepares its statements takes its time.
const KILLS: usize = 200;

fn open(_: PathBuf) -> Opening<Opened> {
    Box::pin(async move {
        let store = Arc::new(Schema::of_crash_run().config().connect().await?);
        Ok((store.clone() as _, store as _))
    })
}

fn main() -> ExitCode {
    let options = Options::new("PostgreSQL").kills(KILLS);
    support::in_one_schema(|| semel_testkit::inbox_crash::main(options, open))
}
