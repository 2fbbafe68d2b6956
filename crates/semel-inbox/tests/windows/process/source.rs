//! The queue outside, as a source of the engine.

use std::sync::Arc;
use std::time::Duration;

use semel_core::store::Answer;
use semel_core::{Error, Kind};
use semel_inbox::Source;
use semel_inbox::source::{Batch, Delivery, Event, Handle, Partition, Raw, Settle, Settled, Want};

use super::{Job, Window};
use crate::outside::Delivered;

/// How often the queue is asked.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) struct Remote {
    pub(super) job: Arc<Job>,
    pub(super) client: reqwest::Client,
}

impl Remote {
    async fn post(&self, path: &str, body: String) -> semel_core::Result<bytes::Bytes> {
        let away = |error: reqwest::Error| Error::new(Kind::Unavailable, error.to_string());
        let request = self.client.post(format!("{}{path}", self.job.outside));
        let request = request
            .header("content-type", "application/json")
            .body(body);
        let response = request.send().await.map_err(away)?;
        let response = response.error_for_status().map_err(away)?;
        response.bytes().await.map_err(away)
    }
}

fn delivery(delivered: Delivered) -> Delivery {
    Delivery {
        raw: Raw {
            id: Some(delivered.id),
            payload: Some(delivered.payload.into()),
            ..Raw::default()
        },
        handle: Handle::new(delivered.tag),
        partition: Partition::default(),
    }
}

impl Source for Remote {
    fn name(&self) -> &str {
        "queue"
    }

    fn open(&self, _: Vec<(Partition, String)>) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn next(&self, _: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            let path = format!("/queue/next/{}", std::process::id());
            loop {
                let answer = self.post(&path, String::new()).await?;
                let found: Vec<Delivered> = serde_json::from_slice(&answer).unwrap();
                if !found.is_empty() {
                    let deliveries = found.into_iter().map(delivery).collect();
                    return Ok(Event::Batch(Batch::of(deliveries)));
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(async move {
            let acked = items.iter().filter(|(_, how)| *how == Settle::Ack);
            let tags = acked.map(|(handle, _)| *handle.get().unwrap());
            let tags: Vec<usize> = tags.collect();
            if !tags.is_empty() {
                self.job.reach(Window::BeforeAck);
                self.job.reach(Window::AfterCommit);
                let body = serde_json::to_string(&tags).unwrap();
                self.post("/queue/ack", body).await?;
                self.job.reach(Window::AfterAck);
            }
            Ok(vec![Settled::Done; items.len()])
        })
    }
}
