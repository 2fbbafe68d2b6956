//! A thread with a runtime of its own.
//!
//! Many small tasks on one thread wake each other without a system call. The threads of the usual runtime would
//! have to wake each other too, on cores that the measured processes need.

use semel_core::{Error, Kind, Result};
use tokio::sync::oneshot;

use crate::machine::io;

/// Does the work there and waits for what comes of it. If nobody waits any more, it goes on to its end.
pub(super) async fn run<T, W, F>(work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result<T>>,
{
    let (tell, told) = oneshot::channel();
    std::thread::Builder::new()
        .name("semel-bench".into())
        .spawn(move || {
            // A listener that has gone away wants no answer.
            let _ = tell.send(block_on(work));
        })
        .map_err(io("starting a thread"))?;
    let crashed = |e| Error::new(Kind::Internal, "a thread of the benchmark panicked").caused_by(e);
    told.await.map_err(crashed)?
}

fn block_on<T, W, F>(work: W) -> Result<T>
where
    W: FnOnce() -> F,
    F: Future<Output = Result<T>>,
{
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(io("starting a runtime"))?
        .block_on(work())
}
