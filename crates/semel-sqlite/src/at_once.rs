//! Look-ups on the caller's own thread.
//!
//! A look-up touches a few pages that are nearly always in memory: it takes less time than waking
//! another thread and being woken by it. It never waits: without a free connection, or when the
//! disk turns out to be slow, look-ups go to the reader threads instead.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use semel_core::{Result, SteadyClock, Timestamp};
use tokio::time::Instant;

use crate::config::Config;
use crate::connection;

/// A look-up that takes longer than this was not in memory; a busy machine alone makes it take a few.
const SLOW: Duration = Duration::from_millis(10);
/// How long look-ups stay off their callers' threads then.
const PAUSE: Duration = Duration::from_secs(1);

/// Connections for callers.
#[derive(Debug)]
pub(crate) struct AtOnce {
    connections: Vec<Mutex<Connection>>,
    paused_until_ms: AtomicI64,
}

impl AtOnce {
    /// As many connections as there are reader threads.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        let open = |_| {
            let connection = connection::reading(config)?;
            connection::never_wait(&connection)?;
            Ok(Mutex::new(connection))
        };
        Ok(Self {
            connections: (0..config.readers).map(open).collect::<Result<_>>()?,
            paused_until_ms: AtomicI64::new(i64::MIN),
        })
    }

    /// Closes all connections.
    pub(crate) fn close(&mut self) {
        self.connections.clear();
    }

    /// The answer to `question`, unless it would have to wait. What fails here is asked again by a
    /// reader thread, which waits for locks and reports errors.
    pub(crate) fn ask<A>(
        &self,
        clock: &SteadyClock,
        question: impl FnOnce(&Connection, Timestamp) -> Result<A>,
    ) -> Option<A> {
        let now = clock.now();
        if now.as_millis() < self.paused_until_ms.load(Ordering::Relaxed) {
            return None;
        }
        let connection = self.connections.iter().find_map(|c| c.try_lock().ok())?;
        let begun = Instant::now();
        let answer = question(&connection, now);
        if begun.elapsed() > SLOW {
            let until = now.after(PAUSE).as_millis();
            self.paused_until_ms.store(until, Ordering::Relaxed);
        }
        answer.ok()
    }
}
