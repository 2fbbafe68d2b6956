//! The source: one queue, standard or FIFO.
//!
//! Several tasks wait for messages and fill a bounded buffer; one more keeps invisible to others what waits there. `next` only takes from the
//! buffer. The service withholds the later messages of a FIFO group until the earlier ones are deleted, so the order within a group is the one
//! of the buffer.

mod receive;
mod settle;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use semel_core::Result;
use semel_core::store::Answer;
use semel_inbox::Source;
use semel_inbox::source::buffer::Buffer;
use semel_inbox::source::{
    Event, Facts, Handle, Partition, Position, Settle, Settled, SourceLease, Want,
};
use tokio::task::AbortHandle;

use crate::facts::{self, Attributes};
use crate::queue::Queue;
use crate::url::{self, Reading, VISIBILITY_MAX};
use receive::Receipt;

/// A queue of Amazon SQS that is read.
pub struct SqsSource {
    name: String,
    reader: Arc<Reader>,
    /// The tasks that receive. They end with the source.
    tasks: Mutex<Vec<AbortHandle>>,
}

/// What the tasks and the calls of a source share.
pub(crate) struct Reader {
    queue: Queue,
    reading: Reading,
    buffer: Buffer<Receipt>,
    /// The queue's full name, which says region and account.
    arn: OnceLock<String>,
    /// Whether a deduplication id is unique within its group only; an operator may change it.
    is_by_group: AtomicBool,
}

impl Reader {
    /// Asks the service about the queue, and remembers what ids and coordinates depend on.
    async fn attributes(&self) -> Result<Attributes> {
        let attributes = facts::attributes(&self.queue).await?;
        if let Some(arn) = attributes.get(&QueueAttributeName::QueueArn) {
            // Whichever came first is the same.
            let _ = self.arn.set(arn.clone());
        }
        let is_by_group = facts::is_by_group(&attributes);
        self.is_by_group.store(is_by_group, Ordering::Relaxed);
        Ok(attributes)
    }

    fn arn(&self) -> &str {
        let queue = || self.queue.address.queue.as_str();
        self.arn.get().map_or_else(queue, String::as_str)
    }
}

impl std::fmt::Debug for SqsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqsSource").field(&self.name).finish()
    }
}

impl SqsSource {
    /// The queue that a URL names; nothing is connected yet. A queue has no groups, so `consumer` names nothing at the service.
    ///
    /// `sqs://[REGION]/QUEUE`, then `?name=value&…`: `endpoint`, `owner`, `credentials=none`, `pollers=4`, `visibility=30s`, `wait=20s`, `timeout=10s`.
    pub fn from_url(url: &str, consumer: &str) -> Result<Self> {
        let (address, reading) = url::source(url)?;
        let name = format!("sqs:{}:{consumer}", address.queue);
        let buffer = Buffer::new(Partition::new(address.queue.as_str()));
        let reader = Arc::new(Reader {
            queue: Queue::new(address),
            reading,
            buffer,
            arn: OnceLock::new(),
            is_by_group: AtomicBool::new(false),
        });
        Ok(Self {
            name,
            reader,
            tasks: Mutex::default(),
        })
    }

    /// Starts the tasks, unless they run.
    fn start(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.is_empty() {
            return;
        }
        for _ in 0..self.reader.reading.pollers {
            tasks.push(tokio::spawn(receive::run(self.reader.clone())).abort_handle());
        }
        tasks.push(tokio::spawn(receive::keep(self.reader.clone())).abort_handle());
    }

    fn stop(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.drain(..).for_each(|task| task.abort());
    }
}

impl Drop for SqsSource {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Source for SqsSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn lease(&self) -> Option<SourceLease> {
        let lease = SourceLease::extendable(self.reader.reading.visibility);
        Some(lease.at_most(VISIBILITY_MAX))
    }

    fn open(&self, _: Vec<(Partition, Position)>) -> Answer<'_, ()> {
        Box::pin(async {
            self.reader.attributes().await?;
            self.start();
            Ok(())
        })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(self.reader.buffer.next(want))
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(self.reader.settle(items))
    }

    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(async {
            let attributes = self.reader.attributes().await?;
            Ok(facts::weigh(&attributes, &self.reader.reading))
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.stop();
            let receipts = self.reader.buffer.drain();
            let back = Settle::Back(Duration::ZERO);
            let items: Vec<_> = receipts
                .iter()
                .map(|receipt| Some((receipt, back)))
                .collect();
            // What a call that was cut off brings comes again when its time is over.
            self.reader.settle_all(&items).await.map(drop)
        })
    }
}
