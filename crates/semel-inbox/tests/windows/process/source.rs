//! The queue outside, as a source of the engine.

use std::sync::Arc;
use std::time::Duration;

use semel_core::store::Answer;
use semel_core::{Error, Kind};
use semel_inbox::Source;
use semel_inbox::source::{Batch, Delivery, Handle, Raw};

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
            payload: delivered.payload.into(),
            ..Raw::default()
        },
        handle: Handle::new(delivered.tag),
    }
}

fn done<'a>() -> Answer<'a, ()> {
    Box::pin(async { Ok(()) })
}

impl Source for Remote {
    fn name(&self) -> &str {
        "queue"
    }

    fn resume(&self, _: Option<String>) -> Answer<'_, ()> {
        done()
    }

    fn next(&self, _: usize) -> Answer<'_, Batch> {
        Box::pin(async move {
            let path = format!("/queue/next/{}", std::process::id());
            loop {
                let answer = self.post(&path, String::new()).await?;
                let found: Vec<Delivered> = serde_json::from_slice(&answer).unwrap();
                if !found.is_empty() {
                    return Ok(Batch {
                        deliveries: found.into_iter().map(delivery).collect(),
                        ..Batch::default()
                    });
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    fn ack(&self, handles: Vec<Handle>) -> Answer<'_, ()> {
        Box::pin(async move {
            self.job.reach(Window::BeforeAck);
            self.job.reach(Window::AfterCommit);
            let tags = handles.iter().map(|handle| *handle.get().unwrap());
            let tags: Vec<usize> = tags.collect();
            let body = serde_json::to_string(&tags).unwrap();
            self.post("/queue/ack", body).await?;
            self.job.reach(Window::AfterAck);
            Ok(())
        })
    }

    fn nack(&self, _: Handle, _: Duration) -> Answer<'_, ()> {
        done()
    }

    fn reject(&self, _: Handle, reason: String) -> Answer<'_, ()> {
        panic!("expected a message, found what is none: {reason}");
    }

    fn extend(&self, _: Vec<Handle>) -> Answer<'_, ()> {
        done()
    }

    fn lease(&self) -> Option<Duration> {
        None
    }
}
