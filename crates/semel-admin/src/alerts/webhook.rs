//! Notices to a receiver: one for each alert that begins or ends, in order, tried again until it is taken or refused for good.
//!
//! A notice is signed by Standard Webhooks, as the inbox checks what is posted to it. It keeps its id over all attempts, so that a receiver that answered
//! too late recognises it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::store::Nonce;
use semel_core::store::remote::Pauses;
use semel_core::{Clock as _, SystemClock};
use semel_inbox::HttpClient;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::judge::Change;
use super::settings::Webhook;
use super::{Board, Rule};
use crate::metrics::Metrics;
use crate::view;

/// The most notices that wait. Beyond it the oldest are dropped: the newest say how things stand.
const WAITING_MAX: usize = 256;
/// How long a notice is tried.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a notice is tried that conflicts with something. Others wait behind it, and a receiver may mean that it has this one already.
const CONFLICT_LIFE: Duration = Duration::from_secs(10 * 60);

/// Notices that wait to be delivered.
#[derive(Debug, Clone)]
pub(super) struct Notices(Arc<Waiting>);

#[derive(Debug)]
struct Waiting {
    /// A std lock, not an async one: it is held to push or to take one, never over an await.
    queue: Mutex<VecDeque<Notice>>,
    wake_up: Notify,
    metrics: Arc<Metrics>,
}

#[derive(Debug)]
struct Notice {
    id: String,
    body: String,
    made: Instant,
}

/// Delivers notices.
pub(super) struct Delivery {
    waiting: Arc<Waiting>,
    board: Board,
}

pub(super) fn new(metrics: Arc<Metrics>, board: Board) -> (Notices, Delivery) {
    let waiting = Arc::new(Waiting {
        queue: Mutex::default(),
        wake_up: Notify::new(),
        metrics,
    });
    let notices = Notices(waiting.clone());
    (notices, Delivery { waiting, board })
}

impl Notices {
    pub(super) fn push(&self, change: &Change, instance: &str) {
        let Some(rule) = Rule::named(change.alert.rule) else {
            return;
        };
        let id = Nonce::fresh().to_hex();
        let notice = Notice {
            id: format!("msg_{}", String::from_utf8_lossy(&id)),
            body: view::notice(rule, change, instance),
            made: Instant::now(),
        };
        let mut queue = self.0.queue();
        if queue.len() >= WAITING_MAX {
            queue.pop_front();
            self.0.metrics.noticed("dropped");
        }
        queue.push_back(notice);
        drop(queue);
        self.0.wake_up.notify_one();
    }
}

impl Waiting {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn next(&self) -> Notice {
        loop {
            let notice = self.queue().pop_front();
            match notice {
                Some(notice) => return notice,
                None => self.wake_up.notified().await,
            }
        }
    }
}

/// What an attempt led to.
enum Attempt {
    Delivered,
    /// The receiver does not want it, and will not want it later.
    Refused(u16),
    /// The receiver does not want it until a person mends credentials or an address, for so long at most.
    Forbidden(u16, Duration),
    Failed(String),
}

impl Delivery {
    pub(super) async fn run(self) -> Infallible {
        let client = semel_inbox::client_builder().build();
        let Ok(client) = client else {
            tracing::error!(target: "semel::admin", "the HTTP client for notices of alerts cannot be made; none is sent");
            return std::future::pending().await;
        };
        loop {
            let notice = self.waiting.next().await;
            let result = self.deliver(&client, &notice).await;
            self.waiting.metrics.noticed(result);
        }
    }

    /// Tries until the notice is taken, refused or too old; to the receiver that is configured at each moment.
    async fn deliver(&self, client: &HttpClient, notice: &Notice) -> &'static str {
        let mut pauses: Option<Pauses> = None;
        loop {
            let Some(webhook) = self.board.settings().webhook else {
                return "dropped";
            };
            let pauses =
                pauses.get_or_insert_with(|| Pauses::new(webhook.pause, webhook.pause_max));
            let pause = match attempt(client, &webhook, notice).await {
                Attempt::Delivered => return "delivered",
                Attempt::Forbidden(status, life) if notice.made.elapsed() <= life => {
                    tracing::error!(target: "semel::admin", status, id = notice.id, "the receiver of alerts refuses a notice, it is tried again");
                    webhook.pause_max
                }
                Attempt::Refused(status) | Attempt::Forbidden(status, _) => {
                    tracing::error!(target: "semel::admin", status, id = notice.id, "the receiver of alerts refuses a notice");
                    return "refused";
                }
                Attempt::Failed(why) => {
                    tracing::warn!(target: "semel::admin", why, id = notice.id, "a notice of an alert was not delivered, it is tried again");
                    pauses.take()
                }
            };
            if notice.made.elapsed() > LIFE {
                return "dropped";
            }
            self.waiting.metrics.noticed("retried");
            sleep(pause).await;
        }
    }
}

async fn attempt(client: &HttpClient, webhook: &Webhook, notice: &Notice) -> Attempt {
    let seconds = SystemClock::new().now().as_millis() / 1_000;
    let mut request = client
        .post(&webhook.url)
        .timeout(webhook.timeout)
        .header("content-type", "application/json")
        .header("webhook-id", &notice.id)
        .header("webhook-timestamp", seconds);
    if let Some(key) = &webhook.key {
        let signature = key.sign(&notice.id, seconds, notice.body.as_bytes());
        request = request.header("webhook-signature", signature);
    }
    for (name, value) in &webhook.headers {
        request = request.header(name, value);
    }
    match request.body(notice.body.clone()).send().await {
        Err(error) => Attempt::Failed(reason(&error.without_url())),
        Ok(response) => match response.status().as_u16() {
            200..=299 => Attempt::Delivered,
            status @ (408 | 425 | 429) => Attempt::Failed(format!("status {status}")),
            status @ (401 | 403 | 404) => Attempt::Forbidden(status, LIFE),
            status @ 409 => Attempt::Forbidden(status, CONFLICT_LIFE),
            status @ 400..=499 => Attempt::Refused(status),
            status => Attempt::Failed(format!("status {status}")),
        },
    }
}

/// The root cause, which stands at the end. The URL may hold a secret and is in none of them.
fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
