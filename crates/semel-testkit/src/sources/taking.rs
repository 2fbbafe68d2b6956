//! Short ways to read a source and to answer, for a broker's own tests.

use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::intents::Outgoing;
use semel_inbox::source::{Delivery, Event, Settle, Settled, Want};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::reader::{MUCH, PATIENCE};

/// The next event, passing errors left out.
pub async fn event(source: &dyn Source, want: Want) -> Event {
    let until = Instant::now() + PATIENCE;
    loop {
        let next = timeout_at(until, source.next(want)).await;
        match next.expect("something comes") {
            Ok(event) => return event,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The next deliveries; anything else is a failure.
pub async fn batch(source: &dyn Source, want: Want) -> Vec<Delivery> {
    match event(source, want).await {
        Event::Batch(batch) => batch.deliveries,
        other => panic!("a batch expected, found {other:?}"),
    }
}

/// So many deliveries, whatever is lost meanwhile.
pub async fn take(source: &dyn Source, count: usize) -> Vec<Delivery> {
    let mut all = Vec::new();
    while all.len() < count {
        let want = Want {
            count: count - all.len(),
            ..MUCH
        };
        match event(source, want).await {
            Event::Batch(batch) => all.extend(batch.deliveries),
            Event::Gone(_) => {}
            other => panic!("a batch expected, found {other:?}"),
        }
    }
    all
}

/// Nothing comes for this long.
pub async fn nothing_for(source: &dyn Source, time: Duration) {
    let next = timeout(time, source.next(MUCH)).await;
    assert!(next.is_err(), "{next:?}");
}

/// Settles all in one way, passing errors left out.
pub async fn settle(source: &dyn Source, all: &[Delivery], how: Settle) -> Vec<Settled> {
    let until = Instant::now() + PATIENCE;
    loop {
        let items = all.iter().map(|delivery| (delivery.handle.clone(), how));
        match source.settle(items.collect()).await {
            Ok(settled) => return settled,
            Err(error) => assert!(error.is_retryable() && Instant::now() < until, "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The ids that the broker knows, in the order of the deliveries.
pub fn ids(all: &[Delivery]) -> Vec<String> {
    let id = |delivery: &Delivery| delivery.raw.id.clone().expect("an id");
    all.iter().map(id).collect()
}

/// A name that no other test has, also not one of an earlier run.
pub fn fresh_name() -> String {
    format!("t-{:016x}", crate::random::fresh_seed())
}

/// A message for an outlet that has nothing but its id, which is its payload too.
pub fn outgoing(id: &str) -> Outgoing {
    Outgoing {
        id: id.to_owned(),
        key: None,
        kind: None,
        headers: Vec::new(),
        payload: Some(id.to_owned().into()),
    }
}
