//! Opening the store under test, patiently: its server may be busy with the connections of the killed.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{Result, Store};
use tokio::time::{Instant, sleep};

/// The boxed future of [`Open`].
pub type Opening<T = Arc<dyn Store>> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Opens the store of a crash test, on the runtime that will use it; every process of a run calls
/// this with the same directory.
pub type Open<T = Arc<dyn Store>> = fn(PathBuf) -> Opening<T>;

/// How long a process goes on trying to reach its store.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Opens the store, again and again while it is worth it.
pub(crate) async fn opened<T>(open: Open<T>, dir: &Path) -> T {
    let begun = Instant::now();
    loop {
        match open(dir.to_owned()).await {
            Ok(store) => return store,
            Err(error) if error.is_retryable() && begun.elapsed() < PATIENCE => sleep(PAUSE).await,
            Err(error) => panic!("expected a store that opens, found {error}"),
        }
    }
}
