//! A queue that delivers at least once: whatever it was not told about goes to the next process that asks.

use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};

use crate::workshop::payload;

/// A delivery as it goes over the wire.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Delivered {
    pub(crate) tag: usize,
    pub(crate) id: String,
    pub(crate) payload: String,
}

/// All deliveries there ever were.
#[derive(Default)]
pub(super) struct Queue(Vec<Entry>);

struct Entry {
    delivered: Delivered,
    /// Which process has it.
    process: Option<u32>,
    acked: bool,
}

impl Queue {
    pub(super) fn deliver(&mut self, id: &str) {
        let delivered = Delivered {
            tag: self.0.len(),
            id: id.to_owned(),
            payload: payload(id),
        };
        self.0.push(Entry {
            delivered,
            process: None,
            acked: false,
        });
    }

    pub(super) fn unacked(&self) -> usize {
        self.0.iter().filter(|entry| !entry.acked).count()
    }

    fn next(&mut self, process: u32) -> Vec<Delivered> {
        let entries = self.0.iter_mut();
        let open = entries.filter(|entry| !entry.acked && entry.process != Some(process));
        open.map(|entry| {
            entry.process = Some(process);
            entry.delivered.clone()
        })
        .collect()
    }
}

/// `POST /queue/next/{process}`: what that process has not got and nobody has acknowledged, at once and perhaps nothing.
pub(super) async fn next(
    State(queue): State<Arc<Mutex<Queue>>>,
    Path(process): Path<u32>,
) -> Json<Vec<Delivered>> {
    Json(queue.lock().unwrap().next(process))
}

/// `POST /queue/ack` with the tags of deliveries.
pub(super) async fn ack(State(queue): State<Arc<Mutex<Queue>>>, Json(tags): Json<Vec<usize>>) {
    let mut queue = queue.lock().unwrap();
    for tag in tags {
        queue.0[tag].acked = true;
    }
}
