//! Kills real processes on a hybrid of Redis and PostgreSQL and counts effects outside of them.

#[path = "../../semel-redis/tests/common/mod.rs"]
mod claims;
#[path = "../../semel-postgres/tests/support/mod.rs"]
mod outcomes;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::Store;
use semel_hybrid::Hybrid;
use semel_testkit::crash::{Opening, Options};

/// Kills per policy; a process that connects to two servers takes its time.
const KILLS: usize = 60;

fn open(dir: PathBuf) -> Opening {
    Box::pin(async move {
        let name = dir
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let fast = semel_redis::Config::from_url(&claims::url(claims::SINGLE))?.prefix(&name);
        let schema = outcomes::Schema::of_crash_run();
        let durable = schema.config().connect().await?;
        let hybrid = Hybrid::new(Arc::new(fast.connect().await?), Arc::new(durable));
        Ok(Arc::new(hybrid) as Arc<dyn Store>)
    })
}

fn main() -> ExitCode {
    let options = Options::new("hybrid of Redis and PostgreSQL").kills(KILLS);
    outcomes::in_one_schema(|| semel_testkit::crash::main(options, open))
}
