//! The source: a consumer group of one stream.
//!
//! Two tasks fill a bounded buffer: one reads new entries, the other takes over what was pending for too long and keeps alive what
//! waits in the buffer. `next` only takes from it. Redis cannot tell one delivery of an entry from the next one of the same consumer, so
//! every answer is checked on the server: owner and number of deliveries must still be the same.

mod claimer;
mod group;
mod reader;
mod settle;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::Result;
use semel_core::store::Answer;
use semel_inbox::Source;
use semel_inbox::source::{
    Event, Facts, Handle, Partition, Position, Settle, Settled, SourceLease, Want,
};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::facts;
use crate::url;
use group::BLOCK;
pub(crate) use group::Group;

/// A stream that is read through a consumer group.
pub struct RedisStreamsSource {
    name: String,
    group: Arc<Group>,
    /// The tasks that read. They end with the source.
    tasks: Mutex<Vec<AbortHandle>>,
}

impl std::fmt::Debug for RedisStreamsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RedisStreamsSource")
            .field(&self.name)
            .finish()
    }
}

impl RedisStreamsSource {
    /// The stream that a URL names; nothing is connected yet. `consumer` is the name of the group unless the URL has one.
    ///
    /// `redis[s]-streams://[[USER]:PASSWORD@]HOST[:PORT][/DB]/STREAM`, then `?name=value&…`: `group`, `name`, `idle=30s`, `from=0`, `create=true`,
    /// `payload=FIELD`, `key=FIELD`, `tls=true`, `cacert=FILE`, `timeout=5s`.
    pub fn from_url(url: &str, consumer: &str) -> Result<Self> {
        let (address, reading) = url::source(url, consumer)?;
        let name = format!("redis-streams:{}:{}", address.stream, reading.group);
        Ok(Self {
            group: Arc::new(Group::new(name.clone(), address, reading)),
            name,
            tasks: Mutex::default(),
        })
    }

    /// Starts the tasks, unless they run.
    fn start(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.is_empty() {
            tasks.push(tokio::spawn(reader::run(self.group.clone())).abort_handle());
            tasks.push(tokio::spawn(claimer::run(self.group.clone())).abort_handle());
        }
    }

    fn stop(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.drain(..).for_each(|task| task.abort());
    }
}

impl Drop for RedisStreamsSource {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Source for RedisStreamsSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn lease(&self) -> Option<SourceLease> {
        Some(SourceLease::extendable(self.group.reading.idle))
    }

    fn open(&self, _: Vec<(Partition, Position)>) -> Answer<'_, ()> {
        Box::pin(async {
            self.group.join().await?;
            if self.group.reading.name.is_some() {
                // What an earlier process of this name had is taken over at once.
                self.group.leave().await?;
            }
            self.start();
            Ok(())
        })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(self.group.buffer.next(want))
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(self.group.settle(items))
    }

    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(facts::read(&self.group))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            // A read that is left behind at the server would take the next entry for a reader that is no more. If it does not end, what it
            // takes comes when it is idle.
            let ended = timeout(READ_END_MAX, self.group.at_server.lock()).await;
            self.stop();
            drop(ended);
            self.group.leave().await
        })
    }
}

/// How long closing waits for a read to end: a little longer than the server lets one wait.
const READ_END_MAX: Duration = BLOCK.saturating_add(Duration::from_secs(1));
/// The pause after reading failed, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The pause after one more failure.
fn longer(pause: Duration) -> Duration {
    (pause * 2).min(PAUSES.1)
}
