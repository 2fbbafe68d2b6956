//! A turn through the engine: from the broker into the inbox, and, if they are handled, to the end.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::Inbox;
use semel_core::store::Actor;
use semel_core::{Error, Kind, Result, Scope};
use semel_inbox::{Consumer, Done, Engine, Rule, Running, Source, handler_fn};
use tokio::sync::watch;

use super::bare::TURN_MAX;
use super::counted::{Counted, Tally};
use crate::inbox::flow::Counter;
use crate::load::Measured;

/// How many handlers run at once; as many as `bench inbox` has.
const HANDLERS: usize = 400;

/// How far messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Into the inbox: they are stored and acknowledged.
    Receive,
    /// To the end: they are handled and finished too.
    EndToEnd,
}

/// How fast `count` messages go this way.
pub(super) async fn through(
    inbox: &Arc<dyn Inbox>,
    source: Arc<dyn Source>,
    turn: &str,
    way: Way,
    count: usize,
) -> Result<Measured> {
    let scope: Scope = turn.parse()?;
    if way == Way::Receive {
        let by = Actor::new("bench")?;
        inbox.set_paused(scope.clone(), true, by, None).await?;
    }
    let (tally, counter) = (Arc::new(Tally::new()), Arc::new(Counter::default()));
    let done = match way {
        Way::Receive => tally.acked(),
        Way::EndToEnd => counter.completed(),
    };
    let running = start(inbox.clone(), source, scope, tally.clone(), counter)?;
    let waited = all(done, count as u64).await;
    let took = tally.lap.took();
    let stuck = waited.then(|| stuck(&running, count));
    running.shutdown().await;
    match stuck {
        Some(error) => Err(error),
        None => Ok(Measured {
            per_second: count as f64 / took.as_secs_f64(),
            ..Measured::of(&tally.latencies(), took)
        }),
    }
}

fn start(
    inbox: Arc<dyn Inbox>,
    source: Arc<dyn Source>,
    scope: Scope,
    tally: Arc<Tally>,
    counter: Arc<Counter>,
) -> Result<Running> {
    let mut consumer = Consumer::new(scope.clone());
    consumer.workers = HANDLERS;
    let engine = Engine::builder(inbox)
        .consumer(consumer, handler_fn(|_| async { Ok(Done::new()) }))
        .source(scope, Arc::new(Counted::new(source, tally)), Rule::broker())
        .watch(counter)
        .build()?;
    Ok(engine.start())
}

/// Waits until so many are done; whether that took too long.
async fn all(mut done: watch::Receiver<u64>, count: u64) -> bool {
    let all = done.wait_for(|done| *done >= count);
    tokio::time::timeout(TURN_MAX, all).await.is_err()
}

/// Why a turn did not end, as far as its source can say.
fn stuck(running: &Running, count: usize) -> Error {
    let said = running.sources().into_iter().map(|view| {
        let error = view.state.error().map(|error| format!(" ({error})"));
        format!(
            "; the source is {}{}, delivered {}, acknowledged {}",
            view.state.name(),
            error.unwrap_or_default(),
            view.delivered,
            view.acked
        )
    });
    let said: String = said.collect();
    let seconds = Duration::as_secs(&TURN_MAX);
    let message = format!("a turn of {count} messages must end within {seconds} s{said}");
    Error::new(Kind::Internal, message)
}
