//! Publishes intents to an outlet: while one batch is under way, others gather, and the next call takes them all.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::outlet::{Outgoing, Outlet, Sent};

/// The most messages of one call.
const BATCH_MAX: usize = 500;
/// How long an outlet may take beyond the target's timeout. Its own deadlines come first, because it knows which messages of a call were confirmed
/// and which were never sent; this one makes all of them unknown.
const GRACE: Duration = Duration::from_secs(10);
/// How many may wait; more wait where they are.
const WAITING_MAX: usize = 1_024;

/// The way to one outlet.
pub(super) struct Publisher {
    outlet: Arc<dyn Outlet>,
    timeout: Duration,
    /// Made when the first message is sent, because only then a runtime is there for certain.
    queue: OnceLock<mpsc::Sender<Waiting>>,
}

struct Waiting {
    message: Outgoing,
    caller: oneshot::Sender<Sent>,
}

impl Publisher {
    pub(super) fn new(outlet: Arc<dyn Outlet>, timeout: Duration) -> Self {
        Self {
            outlet,
            timeout: timeout + GRACE,
            queue: OnceLock::new(),
        }
    }

    /// Publishes one message together with others that are sent at the same time.
    pub(super) async fn send(&self, message: Outgoing) -> Sent {
        let queue = self.queue.get_or_init(|| {
            let (queue, waiting) = mpsc::channel(WAITING_MAX);
            tokio::spawn(run(self.outlet.clone(), self.timeout, waiting));
            queue
        });
        let (caller, answer) = oneshot::channel();
        if queue.send(Waiting { message, caller }).await.is_err() {
            return Sent::NotSent("the outlet is closed".to_owned());
        }
        let lost = || Sent::Unknown("the outlet gave no answer".to_owned());
        answer.await.unwrap_or_else(|_| lost())
    }
}

async fn run(outlet: Arc<dyn Outlet>, limit: Duration, mut queue: mpsc::Receiver<Waiting>) {
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // The claim of a caller that went away is lost: another process may have sent its message, and later ones of its key, by now.
        batch.retain(|waiting| !waiting.caller.is_closed());
        if batch.is_empty() {
            continue;
        }
        let (messages, callers): (Vec<_>, Vec<_>) = batch
            .drain(..)
            .map(|Waiting { message, caller }| (message, caller))
            .unzip();
        let late = || Sent::Unknown(format!("no answer within {limit:?}"));
        let mut sent = match timeout(limit, outlet.send(messages)).await {
            Ok(sent) => sent.into_iter(),
            Err(_) => Vec::new().into_iter(),
        };
        for caller in callers {
            // A caller that went away meanwhile learns nothing; its intent is tried again.
            let _ = caller.send(sent.next().unwrap_or_else(late));
        }
    }
}
