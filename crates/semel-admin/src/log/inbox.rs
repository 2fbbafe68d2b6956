//! What is unusual about messages. Names, ids and numbers: no payload, no header value, no error text of a handler.

use semel_core::inbox::{Cause, Message, Operation, State};
use semel_core::store::Actor;
use semel_core::{Identity, Scope};
use semel_inbox::{AttemptEnd, CircuitState};

/// One event about one message.
macro_rules! message {
    ($level:ident, $event:expr, $message:expr $(, $($field:tt)+)?) => {
        tracing::$level!(
            target: "semel::state",
            event = $event,
            tenant = $message.identity().tenant().as_str(),
            consumer = %$message.identity().scope(),
            id = $message.identity().key().as_str(),
            event_type = $message.kind(),
            $($($field)+)?
        )
    };
}

pub(crate) fn stored(message: &Message, state: State) {
    match state {
        State::Parked => message!(info, "parked", message),
        State::SkippedDuplicate => message!(info, "older-version-skipped", message),
        _ => message!(debug, "received", message),
    }
}

pub(crate) fn duplicate(message: &Message, first: State) {
    message!(info, "duplicate-skipped", message, first = first.name());
}

pub(crate) fn conflict(message: &Message) {
    message!(warn, "conflict-parked", message);
}

pub(crate) fn reclaimed(message: &Message) {
    message!(warn, "reclaimed", message);
}

pub(crate) fn suppressed(message: &Message, intents: usize) {
    message!(info, "side-effects-suppressed", message, intents);
}

/// The end of an attempt. What completed, of which there are thousands each second, is told at `debug`.
pub(crate) fn finished(message: &Message, end: AttemptEnd) {
    let (cause, took_ms) = (end.cause.map(Cause::name), end.took.as_millis());
    if end.late {
        return message!(
            warn,
            "came-too-late",
            message,
            state = end.state.name(),
            cause,
            took_ms
        );
    }
    match end.state {
        State::Completed => message!(debug, "completed", message, took_ms),
        State::FailedRetryable => message!(info, "failed-retryable", message, cause, took_ms),
        State::FailedTerminal => message!(warn, "failed-terminal", message, cause, took_ms),
        State::Parked => message!(warn, "parked", message, cause, took_ms),
        State::SkippedDuplicate => message!(info, "skipped", message, cause),
        State::Received | State::InProgress => message!(debug, "returned", message),
    }
}

pub(crate) fn alert(consumer: &Scope, alert: &'static str, firing: bool) {
    match firing {
        true => {
            tracing::warn!(target: "semel::state", event = "alert-began", consumer = %consumer, alert)
        }
        false => {
            tracing::info!(target: "semel::state", event = "alert-ended", consumer = %consumer, alert)
        }
    }
}

/// A message that was dealt with before is claimed for a replay.
pub(crate) fn replayed(message: &Message, allowed: bool) {
    message!(info, "replay-claimed", message, forced = !allowed);
}

/// A change by hand through the API.
pub(crate) fn operated(operation: &Operation, changed: u64) {
    tracing::info!(
        target: "semel::state",
        event = "operated",
        consumer = %operation.plan.consumer,
        action = operation.action.name(),
        by = operation.by.as_str(),
        changed,
    );
}

/// A consumer was paused or resumed through the API.
pub(crate) fn paused(consumer: &Scope, paused: bool, by: &Actor) {
    let event = match paused {
        true => "paused",
        false => "resumed",
    };
    tracing::info!(target: "semel::state", event, consumer = %consumer, by = by.as_str());
}

/// A message did not run, because another door had settled its record.
pub(crate) fn settled_elsewhere(message: &Identity) {
    tracing::info!(
        target: "semel::state",
        event = "settled-elsewhere",
        tenant = message.tenant().as_str(),
        consumer = %message.scope(),
        id = message.key().as_str(),
    );
}

/// The circuit of a consumer changed: its handler or provider is away, may be back, or is back.
pub(crate) fn circuit(consumer: &Scope, state: CircuitState) {
    let circuit = state.name();
    match state {
        CircuitState::Open => {
            tracing::warn!(target: "semel::state", event = "circuit", consumer = %consumer, circuit);
        }
        CircuitState::HalfOpen | CircuitState::Closed => {
            tracing::info!(target: "semel::state", event = "circuit", consumer = %consumer, circuit);
        }
    }
}
