//! Sends batches to the collector.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use reqwest::Url;
use semel_core::store::Nonce;
use semel_core::store::remote::Pauses;
use semel_core::trace::FinishedSpan;
use semel_core::{Error, Result};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use crate::config::Config;
use crate::encode;
use crate::queue::Counts;

/// The most spans of one request.
const BATCH_MAX: usize = 512;
/// How often a batch is offered before it is dropped.
const ATTEMPTS_MAX: usize = 5;
/// The pauses between: the first, and the longest, which also bounds what a collector may ask for.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(2);
/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends what waits, until it is stopped.
pub(crate) struct Sender {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    every: Duration,
    resource: Resource,
    waiting: mpsc::Receiver<FinishedSpan>,
    stopped: oneshot::Receiver<()>,
    counts: Arc<Counts>,
    /// Whether the log has heard that spans are dropped, so that it hears so once.
    has_failed: bool,
}

/// Why a batch was not taken.
enum Refused {
    /// Offering it again may help, not before this time if the collector says so.
    ForNow(String, Option<Duration>),
    /// It will never be taken.
    ForGood(String),
}

impl Sender {
    pub(crate) fn new(
        config: Config,
        waiting: mpsc::Receiver<FinishedSpan>,
        stopped: oneshot::Receiver<()>,
        counts: Arc<Counts>,
    ) -> Result<Self> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .timeout(config.timeout)
            .build();
        let client = client.map_err(|error| {
            Error::invalid("the HTTP client for traces cannot be made")
                .caused_by(error.without_url())
        })?;
        let url = config.url()?;
        let mut headers: HeaderMap = config.headers.into_iter().collect();
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, protobuf);
        let instance = format!("{}-{:x}", std::process::id(), Nonce::fresh().to_i64());
        Ok(Self {
            client,
            url,
            headers,
            every: config.every,
            resource: encode::resource(&config.service, &instance),
            waiting,
            stopped,
            counts,
            has_failed: false,
        })
    }

    pub(crate) async fn run(mut self) {
        let mut batch = Vec::new();
        loop {
            let is_stopped = self.gather(&mut batch).await;
            while !batch.is_empty() {
                self.send(std::mem::take(&mut batch)).await;
                if is_stopped {
                    self.take_waiting(&mut batch);
                }
            }
            if is_stopped {
                return;
            }
        }
    }

    /// Waits for spans, and then for others to go along with them; whether the end has come.
    async fn gather(&mut self, batch: &mut Vec<FinishedSpan>) -> bool {
        let is_stopped = tokio::select! {
            count = self.waiting.recv_many(batch, BATCH_MAX) => count == 0,
            () = stop(&mut self.stopped) => {
                self.take_waiting(batch);
                return true;
            }
        };
        let until = Instant::now() + self.every;
        while !is_stopped && batch.len() < BATCH_MAX {
            let room = BATCH_MAX - batch.len();
            tokio::select! {
                more = timeout_at(until, self.waiting.recv_many(batch, room)) => {
                    if !matches!(more, Ok(1..)) {
                        break;
                    }
                }
                () = stop(&mut self.stopped) => return true,
            }
        }
        is_stopped
    }

    fn take_waiting(&mut self, batch: &mut Vec<FinishedSpan>) {
        while batch.len() < BATCH_MAX
            && let Ok(span) = self.waiting.try_recv()
        {
            batch.push(span);
        }
    }

    /// Offers a batch until it is taken, refused for good, or not worth more.
    async fn send(&mut self, spans: Vec<FinishedSpan>) {
        let count = spans.len();
        let body = encode::request(&self.resource, spans);
        let mut pauses = Pauses::new(PAUSE, PAUSE_MAX);
        for attempt in 1.. {
            let (why, after) = match self.offer(body.clone()).await {
                Ok(rejected) => return self.taken(count, rejected),
                Err(Refused::ForGood(why)) => return self.dropped(count, &why),
                Err(Refused::ForNow(why, after)) => (why, after),
            };
            // At the end there is no time to try again.
            if attempt == ATTEMPTS_MAX || self.stopped.is_terminated() {
                return self.dropped(count, &why);
            }
            let pause = pauses.take().max(after.unwrap_or_default());
            tokio::select! {
                () = sleep(pause.min(PAUSE_MAX)) => {}
                () = stop(&mut self.stopped) => return self.dropped(count, &why),
            }
        }
    }

    async fn offer(&self, body: Bytes) -> std::result::Result<usize, Refused> {
        let request = self.client.post(self.url.clone());
        let sent = request.headers(self.headers.clone()).body(body).send();
        let answer = sent.await.map_err(|error| {
            // Without its URL, which may hold a token.
            Refused::ForNow(format!("{}", error.without_url()), None)
        })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(rejected(answer).await);
        }
        let why = format!("the collector answered {status}");
        let is_passing = matches!(status.as_u16(), 429 | 502..=504);
        Err(match is_passing || status == StatusCode::REQUEST_TIMEOUT {
            true => Refused::ForNow(why, retry_after(answer.headers())),
            false => Refused::ForGood(why),
        })
    }

    fn taken(&mut self, count: usize, rejected: usize) {
        let rejected = rejected.min(count);
        self.counts.sent(count - rejected, rejected);
        if rejected > 0 {
            tracing::warn!(
                rejected,
                "the collector took a batch without some of its spans"
            );
        }
        if std::mem::take(&mut self.has_failed) {
            tracing::info!("spans are exported again");
        }
    }

    fn dropped(&mut self, count: usize, why: &str) {
        self.counts.sent(0, count);
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::warn!(why, "spans cannot be exported and are dropped");
        }
    }
}

/// Waits until it is told to stop, or is left alone. Asked again, it says so again, which a channel that has ended does not.
async fn stop(stopped: &mut oneshot::Receiver<()>) {
    if !stopped.is_terminated() {
        let _ = stopped.await;
    }
}

/// How many spans of a batch the collector did not want; an answer that is too long or cannot be read says none.
async fn rejected(mut answer: reqwest::Response) -> usize {
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        if chunk.len() > ANSWER_BYTES_MAX - body.len() {
            return 0;
        }
        body.extend_from_slice(&chunk);
    }
    let said = ExportTraceServiceResponse::decode(body.freeze()).unwrap_or_default();
    let rejected = said
        .partial_success
        .map_or(0, |partial| partial.rejected_spans);
    usize::try_from(rejected).unwrap_or(0)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse();
    seconds.ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
