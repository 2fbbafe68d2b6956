//! What engines of this test have in common: names, policies, and how to wait.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Inbox, Message};
use semel_core::{Identity, LeaseTerm};
use semel_inbox::intents::Target;
use semel_inbox::policy::retry::Backoff;
use semel_inbox::{Builder, Engine, Settings};
use semel_inbox::{Consumer, Retry};

/// The consumer that all messages are for.
pub(crate) const ORDERS: &str = "orders";
/// The target of intents, and the name of the one intent.
pub(crate) const PAY: &str = "pay";
pub(crate) const CHARGE: &str = "charge";
/// The message whose effects are counted.
pub(crate) const ID: &str = "m-1";
/// How long something that must become true may take before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Short, because the survivor has to wait for it; long enough for a slow machine to renew it.
const LEASE: Duration = Duration::from_secs(1);

/// An engine that does not take its time.
pub(crate) fn engine(inbox: Arc<dyn Inbox>) -> Builder {
    Engine::builder(inbox).settings(Settings {
        poll: Duration::from_millis(20),
        drain: Duration::from_secs(20),
        housekeeping: Duration::from_millis(50),
        alerts: Duration::from_secs(5),
        ..Settings::default()
    })
}

/// The policy of a consumer whose claims and retries do not take their time.
pub(crate) fn policy() -> Consumer {
    let mut consumer = Consumer::new(ORDERS.parse().unwrap());
    consumer.lease = lease();
    consumer.retry = quick();
    consumer
}

/// The provider of intents.
pub(crate) fn target(url: &str) -> Target {
    let target = Target::new(PAY, url).unwrap().retry(quick());
    target.lease(lease())
}

fn lease() -> LeaseTerm {
    LeaseTerm::new(LEASE).unwrap()
}

/// Many attempts, a few milliseconds apart.
fn quick() -> Retry {
    let wait = Duration::from_millis(5);
    let backoff = Backoff {
        first: wait,
        max: wait,
        ..Backoff::default()
    };
    Retry::new(10, backoff).unwrap()
}

pub(crate) fn identity(consumer: &str, id: &str) -> Identity {
    Identity::parse("public", consumer, id).unwrap()
}

/// The message with this id.
pub(crate) fn order(id: &str) -> Identity {
    identity(ORDERS, id)
}

/// The intent of the message with this id.
pub(crate) fn charge(id: &str) -> Identity {
    identity("intent:pay", &format!("{ORDERS}@1:{id}:{CHARGE}"))
}

/// The message with this id, as its producer sends it every time.
pub(crate) fn message(id: &str) -> Message {
    Message::new(order(id), payload(id)).unwrap()
}

pub(crate) fn payload(id: &str) -> String {
    format!("{{\"order\":\"{id}\"}}")
}

/// Waits until something is there.
pub(crate) async fn eventually<T, Fut: Future<Output = Option<T>>>(
    what: &str,
    look: impl Fn() -> Fut,
) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await;
    found.unwrap_or_else(|_| panic!("this did not happen: {what}"))
}
