//! What this process tells the service manager over the socket that `NOTIFY_SOCKET` names (sd_notify): nothing is sent where there is none.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// However short the period is.
const BEAT_MIN: Duration = Duration::from_millis(10);

/// All ports are bound, and the process serves; from now on a manager that watches hears of it.
pub(super) fn ready() {
    send(&[NotifyState::Ready, NotifyState::Status("serving")]);
    watch();
}

/// The file is read again; [`reloaded`] follows.
pub(super) fn reloading() {
    // The manager compares this moment with that of its own request.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(_) => send(&[NotifyState::Reloading]),
    }
}

/// The file was read again: it is used, or the old one stays.
pub(super) fn reloaded(is_used: bool) {
    let status = match is_used {
        true => "serving",
        false => "serving; the new configuration is not used, the log says why",
    };
    send(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The process ends what it has begun.
pub(super) fn stopping() {
    let status = NotifyState::Status("finishing what is in flight");
    send(&[NotifyState::Stopping, status]);
}

/// Tells a manager that watches that tasks of this process still get their turn, twice in each of its periods.
fn watch() {
    let Some(period) = sd_notify::watchdog_enabled() else {
        return;
    };
    tokio::spawn(async move {
        let mut ticks = interval((period / 2).max(BEAT_MIN));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            send(&[NotifyState::Watchdog]);
        }
    });
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told how this process stands");
    }
}
