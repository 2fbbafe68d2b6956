//! Writes down what the engine tells whoever measures.

use std::sync::Mutex;
use std::time::Duration;

use semel_core::duplicate::{Duplicate, Origin};
use semel_core::inbox::{Message, Receipt};
use semel_core::{Identity, Scope};
use semel_inbox::{AttemptEnd, CircuitState, Observer};

/// What was told.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) received: Mutex<Vec<(String, Receipt)>>,
    pub(crate) finished: Mutex<Vec<(String, AttemptEnd)>>,
    pub(crate) reclaimed: Mutex<Vec<String>>,
    pub(crate) repeated: Mutex<Vec<Repeated>>,
    pub(crate) suppressed: Mutex<usize>,
    pub(crate) alerts: Mutex<Vec<(String, &'static str, bool)>>,
    pub(crate) elsewhere: Mutex<Vec<String>>,
    pub(crate) circuits: Mutex<Vec<(String, CircuitState)>>,
}

/// A duplicate, without its scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeated {
    pub(crate) origin: Origin,
    pub(crate) age: Option<Duration>,
    pub(crate) took: Option<Duration>,
    pub(crate) retention: Option<Duration>,
}

fn id(message: &Message) -> String {
    message.identity().key().to_string()
}

impl Observer for Seen {
    fn received(&self, message: &Message, receipt: Receipt) {
        self.received.lock().unwrap().push((id(message), receipt));
    }

    fn duplicate(&self, duplicate: &Duplicate<'_>) {
        self.repeated.lock().unwrap().push(Repeated {
            origin: duplicate.origin,
            age: duplicate.age,
            took: duplicate.took,
            retention: duplicate.retention,
        });
    }

    fn finished(&self, message: &Message, end: AttemptEnd) {
        self.finished.lock().unwrap().push((id(message), end));
    }

    fn reclaimed(&self, message: &Message) {
        self.reclaimed.lock().unwrap().push(id(message));
    }

    fn suppressed(&self, _: &Message, intents: usize) {
        *self.suppressed.lock().unwrap() += intents;
    }

    fn alert(&self, consumer: &Scope, alert: &'static str, firing: bool) {
        let told = (consumer.to_string(), alert, firing);
        self.alerts.lock().unwrap().push(told);
    }

    fn settled_elsewhere(&self, message: &Identity) {
        let id = message.key().to_string();
        self.elsewhere.lock().unwrap().push(id);
    }

    fn circuit(&self, consumer: &Scope, state: CircuitState) {
        let told = (consumer.to_string(), state);
        self.circuits.lock().unwrap().push(told);
    }
}
