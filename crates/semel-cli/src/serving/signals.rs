//! What the outside world wants: an end (SIGTERM, SIGINT) or the file again (SIGHUP).

use semel_gateway::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch::{Receiver, Sender};

use super::{Source, gateway};
use crate::error::Result;
use crate::exit::Exit;

/// Becomes true when the process is asked to end. Asked a second time, it ends at once.
pub(super) fn ending() -> Receiver<bool> {
    let (sender, receiver) = tokio::sync::watch::channel(false);
    tokio::spawn(listen(sender));
    receiver
}

async fn listen(ending: Sender<bool>) {
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
        }
        if last {
            tracing::warn!("asked to end a second time, requests in flight are cut off");
            std::process::exit(Exit::Refused.code().into());
        }
        tracing::info!("asked to end, finishing what is in flight");
        ending.send_replace(true);
    }
}

/// Takes the file anew at every SIGHUP. A file that is wrong changes nothing. Only the gateway takes a new one: consumers and their
/// policies stay as they were at the start.
pub(super) async fn reload_on_hangup(handle: Option<Handle>, source: Source) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return tracing::error!("cannot listen for SIGHUP, the file will not be read again");
    };
    while hangup.recv().await.is_some() {
        let Some(handle) = &handle else {
            tracing::warn!(
                "nothing here takes a new configuration while it serves; start anew to use it"
            );
            continue;
        };
        match reload(handle, &source) {
            Ok(()) => tracing::info!("the configuration was read again"),
            Err(error) => {
                let why = error.message();
                tracing::error!(why, "the new configuration is not used, the old one stays");
            }
        }
    }
}

fn reload(handle: &Handle, source: &Source) -> Result<()> {
    let file = source.load()?;
    let Some(section) = &file.gateway else {
        let message = "the file no longer has a gateway section";
        return Err(crate::error::Error::new(Exit::Configuration, message));
    };
    handle
        .reload(&gateway::config(section)?)
        .map_err(gateway::error)
}
