//! Reads the logs of partitions, beside everything else. Deliveries of a partition are parked here until its log was read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use semel_core::{Error, Kind, Result};
use semel_inbox::source::Delivery;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use crate::processed::ids::Ids;

/// The most logs that are read at the same time: each has a thread and connections of its own.
const LOADS_MAX: usize = 4;

/// A partition whose log is being read.
struct Parked {
    /// Which reading: one of an earlier assignment says nothing about this one.
    turn: u64,
    deliveries: Vec<Delivery>,
    is_abandoned: Arc<AtomicBool>,
}

impl Drop for Parked {
    fn drop(&mut self) {
        // A thread cannot be cancelled; it looks.
        self.is_abandoned.store(true, Ordering::Relaxed);
    }
}

/// How a reading ended.
pub(super) struct Loaded {
    pub(super) partition: i32,
    turn: u64,
    pub(super) ids: Result<Ids>,
}

/// All partitions whose logs are being read.
pub(super) struct Loads {
    parked: HashMap<i32, Parked>,
    tasks: JoinSet<Loaded>,
    permits: Arc<Semaphore>,
    last: u64,
}

impl Loads {
    pub(super) fn new() -> Self {
        Self {
            parked: HashMap::new(),
            tasks: JoinSet::new(),
            permits: Arc::new(Semaphore::new(LOADS_MAX)),
            last: 0,
        }
    }

    /// Parks a delivery; whether it is the first of its partition, whose log is to be read then.
    pub(super) fn park(&mut self, partition: i32, delivery: Delivery) -> bool {
        let parked = self.parked.get_mut(&partition);
        let is_first = parked.is_none();
        match parked {
            Some(parked) => parked.deliveries.push(delivery),
            None => {
                self.last += 1;
                let parked = Parked {
                    turn: self.last,
                    deliveries: vec![delivery],
                    is_abandoned: Arc::default(),
                };
                self.parked.insert(partition, parked);
            }
        }
        is_first
    }

    /// How many deliveries are parked.
    pub(super) fn len(&self) -> usize {
        let parked = self.parked.values();
        parked.map(|parked| parked.deliveries.len()).sum()
    }

    /// Reads the log of a partition with parked deliveries, after a pause.
    pub(super) fn begin(
        &mut self,
        partition: i32,
        pause: Duration,
        load: impl FnOnce(&AtomicBool) -> Result<Ids> + Send + 'static,
    ) {
        let Some(parked) = self.parked.get(&partition) else {
            return;
        };
        let (turn, is_abandoned) = (parked.turn, parked.is_abandoned.clone());
        let permits = self.permits.clone();
        self.tasks.spawn(async move {
            sleep(pause).await;
            // It is never closed.
            let _permit = permits.acquire_owned().await;
            let ended = spawn_blocking(move || load(&is_abandoned)).await;
            let failed =
                |error: tokio::task::JoinError| Error::new(Kind::Internal, error.to_string());
            Loaded {
                partition,
                turn,
                ids: ended.map_err(failed).flatten(),
            }
        });
    }

    /// The next reading that has ended, of a partition that is still parked.
    pub(super) async fn next(&mut self) -> Option<Loaded> {
        loop {
            let Ok(loaded) = self.tasks.join_next().await? else {
                continue;
            };
            let parked = self.parked.get(&loaded.partition);
            if parked.is_some_and(|parked| parked.turn == loaded.turn) {
                return Some(loaded);
            }
        }
    }

    /// The deliveries of a partition whose log was read.
    pub(super) fn release(&mut self, partition: i32) -> Vec<Delivery> {
        let parked = self.parked.remove(&partition);
        parked
            .map(|mut parked| std::mem::take(&mut parked.deliveries))
            .unwrap_or_default()
    }

    /// Partitions are not ours any more: what is parked of them comes again, here or elsewhere.
    pub(super) fn lose(&mut self, partitions: &[i32]) {
        self.parked
            .retain(|partition, _| !partitions.contains(partition));
    }
}
