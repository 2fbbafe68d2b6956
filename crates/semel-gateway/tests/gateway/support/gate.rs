//! A gate that whoever scripts a test opens.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Closed until it is opened, then open for everybody.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn open(&self) {
        self.0.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    pub(crate) async fn pass(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}
