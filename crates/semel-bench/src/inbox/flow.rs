//! From end to end: messages are received while others are handled and finished, until all are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::inbox::{Inbox, Message, Receipt, State};
use semel_core::{Error, Kind, Result, Scope};
use semel_inbox::AttemptEnd;
use semel_inbox::policy::consumer::WORKERS_MAX;
use semel_inbox::{Consumer, Observer};
use semel_inbox::{Done, Engine, Running, handler_fn};
use tokio::sync::watch;

use super::options::InboxOptions;
use super::side::Side;
use crate::baseline::inbox::CONSUMER;
use crate::timing::Stopwatch;

/// How long the last messages may take after the last was received.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a plain worker waits that found nothing.
const PAUSE: Duration = Duration::from_millis(1);

/// Messages per second through the engine, with a handler that does nothing.
pub(super) async fn through_engine(
    inbox: &Arc<dyn Inbox>,
    side: &Side,
    options: &InboxOptions,
) -> Result<f64> {
    let (running, mut completed) = start(inbox.clone(), options)?;
    let clock = Stopwatch::start();
    side.receive(options).await?;
    let received = side.waiting();
    let all = completed.wait_for(|completed| *completed >= received);
    let waited = tokio::time::timeout(PATIENCE, all).await;
    let rate = received as f64 / clock.elapsed().as_secs_f64();
    let stuck = waited.is_err();
    running.shutdown().await;
    match stuck {
        true => Err(stranded()),
        false => {
            side.dealt(received);
            Ok(rate)
        }
    }
}

/// The same for workers that claim from a plain table.
pub(super) async fn through_workers(side: &Side, options: &InboxOptions) -> Result<f64> {
    let (over, receiving) = watch::channel(false);
    let clock = Stopwatch::start();
    let before = side.given();
    let receive = async {
        let received = side.receive(options).await;
        over.send_replace(true);
        received
    };
    let workers = (0..options.workers).map(|_| {
        let (side, receiving, batch) = (side.clone(), receiving.clone(), options.batch);
        tokio::spawn(async move { work(&side, &receiving, batch).await })
    });
    let workers: Vec<_> = workers.collect();
    receive.await?;
    for worker in workers {
        let crashed = |e| Error::new(Kind::Internal, "a worker panicked").caused_by(e);
        worker.await.map_err(crashed)??;
    }
    let received = side.given() - before;
    Ok(received as f64 / clock.elapsed().as_secs_f64())
}

/// Deals with what waits until nothing does and nothing more is received.
async fn work(side: &Side, over: &watch::Receiver<bool>, batch: usize) -> Result<()> {
    loop {
        let was_over = *over.borrow();
        match side.deal_batch(batch).await? {
            0 if was_over => return Ok(()),
            0 => tokio::time::sleep(PAUSE).await,
            _ => {}
        }
    }
}

/// An engine with as many handlers at once as plain workers have messages in their hands, and how many it has completed.
fn start(inbox: Arc<dyn Inbox>, options: &InboxOptions) -> Result<(Running, watch::Receiver<u64>)> {
    let mut consumer = Consumer::new(CONSUMER.parse()?);
    consumer.workers = (options.workers * options.batch).min(WORKERS_MAX);
    let counter = Arc::new(Counter::default());
    let completed = counter.completed();
    let engine = Engine::builder(inbox)
        .consumer(consumer, handler_fn(|_| async { Ok(Done::new()) }))
        .watch(counter)
        .build()?;
    Ok((engine.start(), completed))
}

fn stranded() -> Error {
    let message = format!("all messages must be completed within {PATIENCE:?}");
    Error::new(Kind::Internal, message)
}

/// Counts completed messages.
#[derive(Default)]
pub(crate) struct Counter {
    completed: AtomicU64,
    told: watch::Sender<u64>,
}

impl Counter {
    /// How many were completed so far.
    pub(crate) fn completed(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }
}

impl Observer for Counter {
    fn finished(&self, _: &Message, end: AttemptEnd) {
        if end.state == State::Completed && !end.late {
            let count = self.completed.fetch_add(1, Ordering::Relaxed) + 1;
            self.told.send_replace(count);
        }
    }

    fn received(&self, _: &Message, _: Receipt) {}
    fn reclaimed(&self, _: &Message) {}
    fn suppressed(&self, _: &Message, _: usize) {}
    fn alert(&self, _: &Scope, _: &'static str, _: bool) {}
}
