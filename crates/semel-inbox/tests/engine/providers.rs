//! A pretend provider that keeps its own idempotency keys and counts its effects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::support::server::{Reply, Request, Server, status, with};

/// A provider: the same key has one effect, however often it comes.
pub(crate) struct Provider {
    pub(crate) server: Server,
    charges: Arc<Mutex<HashMap<String, usize>>>,
}

/// What goes wrong with the answer to a charge, by its number from 1; `None` if nothing does.
pub(crate) type Fault = fn(usize) -> Option<Reply>;

impl Provider {
    /// A provider whose effects happen before its answers go wrong.
    pub(crate) async fn start(fault: Fault) -> Self {
        let charges: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
        let (book, count) = (charges.clone(), Mutex::new(0));
        let server = Server::start(move |request: &Request| {
            if request.line.starts_with("GET ") {
                return asked(&book, request);
            }
            let key = request.header("idempotency-key").unwrap_or("none");
            let mut count = count.lock().unwrap();
            *count += 1;
            let mut book = book.lock().unwrap();
            let number = book.len() + 1;
            let charge = *book.entry(key.to_owned()).or_insert(number);
            fault(*count).unwrap_or_else(|| {
                let body = format!("{{\"charge\":{charge}}}");
                with(200, &[("content-type", "application/json")], &body)
            })
        })
        .await;
        Self { server, charges }
    }

    /// How many charges there are.
    pub(crate) fn charges(&self) -> usize {
        self.charges.lock().unwrap().len()
    }
}

/// `GET /charges/KEY`: whether there is one.
fn asked(book: &Mutex<HashMap<String, usize>>, request: &Request) -> Reply {
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let key = path.rsplit('/').next().unwrap_or_default();
    let key = key.replace("%3A", ":").replace("%40", "@");
    match book.lock().unwrap().get(&key) {
        Some(charge) => with(200, &[], &format!("{{\"found\":{charge}}}")),
        None => status(404),
    }
}
