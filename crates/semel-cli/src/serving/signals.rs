//! What the outside world wants: an end (SIGTERM, SIGINT) or the file again (SIGHUP).

use std::pin::pin;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch::{Receiver, Sender};

use crate::exit::Exit;

/// Becomes true when the process is asked to end, or at `end`. Asked a second time, it ends at once, after `cut_off`.
pub(super) fn ending(
    end: impl Future<Output = ()> + Send + 'static,
    cut_off: impl FnOnce() + Send + 'static,
) -> Receiver<bool> {
    let (sender, receiver) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        asked_twice(sender, end).await;
        tracing::warn!("asked to end a second time, requests in flight are cut off");
        cut_off();
        std::process::exit(Exit::Refused.code().into());
    });
    receiver
}

/// Tells of the first time, and ends at the second.
async fn asked_twice(ending: Sender<bool>, end: impl Future<Output = ()>) {
    let mut end = pin!(end);
    let both = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    );
    let (Ok(mut terminate), Ok(mut interrupt)) = both else {
        tracing::error!("cannot listen for signals, the process will not drain");
        return std::future::pending().await;
    };
    for last in [false, true] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = &mut end, if !last => {}
        }
        if !last {
            tracing::info!("asked to end, finishing what is in flight");
            ending.send_replace(true);
        }
    }
}

/// Every SIGHUP from now on; `None` if the system does not tell of them.
pub(super) fn hangups() -> Option<Signal> {
    signal(SignalKind::hangup()).ok()
}
