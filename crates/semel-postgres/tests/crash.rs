//! Kills real processes on PostgreSQL and counts effects outside of them.

mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use semel_core::Store;
use semel_postgres::Config;
use semel_testkit::crash::{Opening, Options};
use support::Schema;

/// Kills per policy; a process that connects and prepares its statements takes its time.
const KILLS: usize = 60;

/// All processes of a run share a schema: the supervisor's, which is every worker's parent.
fn schema() -> Schema {
    let supervisor = match std::env::var_os("SEMEL_CRASH_WORKER") {
        Some(_) => std::os::unix::process::parent_id(),
        None => std::process::id(),
    };
    Schema {
        name: format!("crash_{supervisor}"),
        url: support::url(),
    }
}

fn open(_: PathBuf) -> Opening {
    Box::pin(async move {
        // Only the supervisor's own schema is dropped at the end, not each worker's idea of it.
        let schema = std::mem::ManuallyDrop::new(schema());
        let config = Config::from_url(&schema.url)?.schema(&schema.name)?;
        let store = config.connections(4).connect().await?;
        Ok(Arc::new(store) as Arc<dyn Store>)
    })
}

fn main() -> ExitCode {
    let worker = std::env::var_os("SEMEL_CRASH_WORKER").is_some();
    let schema = (!worker).then(schema);
    let code = semel_testkit::crash::main(Options::new("PostgreSQL").kills(KILLS), open);
    drop(schema);
    code
}
