//! Waking whoever waits for messages, in this process and in others.
//!
//! Other processes are told by `NOTIFY`, at most once in a short while for each consumer, and never inside the transaction that
//! made something due: a commit with a notification waits for all others that have one. A process listens as soon as somebody in
//! it asks for a wake-up, on a connection of its own. Behind a pooler in transaction mode there is no session to listen on, and
//! whoever waits has to look now and then, as everybody does in any case.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use semel_core::Scope;
use semel_core::inbox::{WakeUp, WakeUps};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;

use crate::config::Config;
use crate::engine::Engine;
use crate::value::Value;

/// How long notifications of one consumer are apart at least.
const APART: Duration = Duration::from_millis(20);
/// The first and the longest pause before the listening connection is made again.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The most bytes of an identifier that PostgreSQL keeps.
const NAME_BYTES_MAX: usize = 63;

/// The wake-ups of a store.
#[derive(Debug)]
pub(crate) struct Waking {
    shared: Arc<Shared>,
    engine: Weak<Engine>,
    config: Config,
    runtime: Handle,
    listening: OnceLock<Option<AbortHandle>>,
    telling: OnceLock<AbortHandle>,
}

#[derive(Debug, Default)]
struct Shared {
    wake_ups: WakeUps,
    /// Consumers that other processes have to be told of.
    untold: Mutex<BTreeSet<Scope>>,
    some: Notify,
}

impl Waking {
    pub(crate) fn new(engine: Weak<Engine>, config: &Config) -> Self {
        Self {
            shared: Arc::default(),
            engine,
            config: config.clone(),
            runtime: Handle::current(),
            listening: OnceLock::new(),
            telling: OnceLock::new(),
        }
    }

    /// A wake-up of one consumer.
    pub(crate) fn wake_up(&self, consumer: &Scope) -> WakeUp {
        let wake_up = self.shared.wake_ups.wake_up(consumer);
        self.listening.get_or_init(|| {
            let (shared, config) = (self.shared.clone(), self.config.clone());
            let listening = config
                .prepare
                .then(|| self.runtime.spawn(listen(shared, config)));
            listening.map(|task| task.abort_handle())
        });
        wake_up
    }

    /// Something became due for a consumer.
    pub(crate) fn wake(&self, consumer: &Scope) {
        self.shared.wake_ups.wake(consumer);
        self.untold().insert(consumer.clone());
        self.shared.some.notify_one();
        self.telling.get_or_init(|| {
            let (shared, engine) = (self.shared.clone(), self.engine.clone());
            let telling = self.runtime.spawn(tell(shared, engine));
            telling.abort_handle()
        });
    }

    fn untold(&self) -> std::sync::MutexGuard<'_, BTreeSet<Scope>> {
        // The set is whole after every statement, so a poisoned lock protects nothing.
        self.shared
            .untold
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waking {
    fn drop(&mut self) {
        let tasks = [
            self.listening.get().cloned().flatten(),
            self.telling.get().cloned(),
        ];
        for task in tasks.into_iter().flatten() {
            task.abort();
        }
    }
}

/// The channel of a schema; a long name is cut off, which may wake somebody for nothing.
fn channel(schema: &str) -> String {
    let mut name = format!("semel_{schema}");
    name.truncate(NAME_BYTES_MAX);
    name
}

/// Tells other processes, until the store is gone.
async fn tell(shared: Arc<Shared>, engine: Weak<Engine>) {
    loop {
        shared.some.notified().await;
        let consumers = {
            let mut untold = shared.untold.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *untold)
        };
        let Some(engine) = engine.upgrade() else {
            return;
        };
        let names: Vec<String> = consumers.iter().map(ToString::to_string).collect();
        let params = [
            Value::text(channel(&engine.schema)),
            Value::texts(names.iter().map(String::as_str)),
        ];
        if let Ok(mut link) = engine.links.get().await {
            // A claimer that is not woken finds it when it polls; a wake-up is never the only way.
            let _ = link.ask_alone(&engine.sql.inbox.notify, &params).await;
        }
        drop(engine);
        sleep(APART).await;
    }
}

/// Listens for ever, on a connection that is made again when it breaks.
async fn listen(shared: Arc<Shared>, config: Config) {
    let mut pause = PAUSE_FIRST;
    loop {
        if let Ok(true) = listen_once(&shared, &config).await {
            pause = PAUSE_FIRST;
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Listens until the connection breaks; says whether it was one.
async fn listen_once(shared: &Shared, config: &Config) -> semel_core::Result<bool> {
    let mut server = config.server.clone();
    server.connect_timeout(config.timeout);
    server.keepalives_idle(Duration::from_secs(15));
    if server.get_application_name().is_none() {
        server.application_name("semel");
    }
    let Ok((client, mut connection)) = server.connect(config.tls.connector()?).await else {
        return Ok(false);
    };
    let mut heard = false;
    let listening = format!("LISTEN {}", channel(&config.schema));
    let begin = async {
        let listening = client.batch_execute(&listening).await;
        // What rang while nobody listened is not known: all look.
        shared.wake_ups.wake_all();
        if listening.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let hear = async {
        let mut messages = poll_fn(|cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            heard = true;
            if let AsyncMessage::Notification(woken) = message
                && let Ok(consumer) = woken.payload().parse()
            {
                shared.wake_ups.wake(&consumer);
            }
        }
    };
    tokio::select! {
        () = begin => {}
        () = hear => {}
    }
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_a_name_that_postgres_keeps() {
        assert_eq!(channel("semel"), "semel_semel");
        assert_eq!(channel(&"x".repeat(63)).len(), NAME_BYTES_MAX);
    }
}
