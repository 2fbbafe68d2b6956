//! Sends spans to an OpenTelemetry collector over OTLP/HTTP, as binary protobuf.
//!
//! [`start`] gives a [`SpanSink`] for a [`Tracer`](semel_core::Tracer) and an [`Exporter`], which sends what
//! the sink was given until it is shut down:
//!
//! ```no_run
//! use semel_core::Tracer;
//! use semel_core::trace::Sampling;
//!
//! # async fn run() -> semel_core::Result<()> {
//! let (sink, exporter) = semel_otel::start(semel_otel::Config::new("http://127.0.0.1:4318"))?;
//! let tracer = Tracer::new(sink, Sampling::default());
//! // … give the tracer to doors and engines …
//! exporter.shutdown().await;
//! # drop(tracer);
//! # Ok(())
//! # }
//! ```
//!
//! - `queue` is what lies between: bounded, never waited for; what finds no room is dropped and counted.
//! - `sender` sends batches, and tries again what a collector may take later.
//! - `encode` makes the protocol's messages of spans.
//!
//! There is no gRPC, and nothing but spans is sent: metrics and logs have their own ways.

mod config;
mod encode;
mod queue;
mod sender;

pub use config::{Config, Endpoint};
pub use queue::Counts;

use std::sync::Arc;
use std::time::Duration;

use semel_core::Result;
use semel_core::trace::SpanSink;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use queue::Queue;
use sender::Sender;

/// How long the spans that wait at the end may take to be sent.
const FLUSH: Duration = Duration::from_secs(3);

/// Sends spans until it is shut down. Dropping it stops that without a word.
#[derive(Debug)]
pub struct Exporter {
    counts: Arc<Counts>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Begins to export. Must be called inside a Tokio runtime.
///
/// # Errors
/// An endpoint that is no URL of HTTP, or a client that cannot be made.
pub fn start(config: Config) -> Result<(Arc<dyn SpanSink>, Exporter)> {
    let counts = Arc::<Counts>::default();
    let (spans, waiting) = mpsc::channel(config.queue_max);
    let (stop, stopped) = oneshot::channel();
    let sender = Sender::new(config, waiting, stopped, counts.clone())?;
    let queue = Arc::new(Queue::new(spans, counts.clone()));
    let task = tokio::spawn(sender.run());
    Ok((queue, Exporter { counts, stop, task }))
}

impl Exporter {
    /// What became of spans so far.
    pub fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }

    /// Sends what waits, for a few seconds at most; what ends later is dropped.
    pub async fn shutdown(mut self) {
        // The task may have ended already.
        let _ = self.stop.send(());
        let ended = tokio::time::timeout(FLUSH, &mut self.task).await;
        if let Ok(Err(error)) = &ended {
            tracing::error!(%error, "the exporter of spans died");
        }
        if ended.is_err() {
            self.task.abort();
            // It ends at its next pause, and counts nothing after that.
            let _ = self.task.await;
        }
        let dropped = self.counts.leave();
        if dropped > 0 {
            tracing::warn!(dropped, "the last spans were not exported within {FLUSH:?}");
        }
    }
}
