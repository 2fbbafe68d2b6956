//! The engine for messages: sources, workers, delivery, steps, intents.
//!
//! ```no_run
//! use std::sync::Arc;
//! use semel_core::inbox::Inbox;
//! use semel_inbox::intents::{Target, Vendor};
//! use semel_inbox::{Consumer, Done, Engine, FileSource, HttpHandler, Rule, Webhook, handler_fn};
//!
//! # async fn run(inbox: Arc<dyn Inbox>) -> semel_core::Result<()> {
//! let orders = Consumer::new("orders".parse()?);
//! let mailer = Consumer::new("mailer@2".parse()?);
//! let engine = Engine::builder(inbox)
//!     .consumer(orders, handler_fn(|ctx| async move {
//!         ctx.intent("payments", "charge", "{\"amount\": 1999}")?;
//!         Ok(Done::new())
//!     }))
//!     .consumer(mailer, HttpHandler::new("http://127.0.0.1:9000/mails")?)
//!     .target(Target::new("payments", "http://127.0.0.1:9001/charges")?.vendor(Vendor::Stripe))
//!     .source("orders".parse()?, Arc::new(FileSource::new("orders.jsonl").follow()), Rule::default())
//!     .build()?;
//! let running = engine.start();
//! let router = running.router(vec![Webhook::new("mailer@2".parse()?)])?;
//! // … serve the router, wait for a signal …
//! running.shutdown().await;
//! # let _ = router;
//! # Ok(())
//! # }
//! ```
//!
//! Read it in this order: [`handler`] is what is done with a message, [`engine`] does it, [`deliver`] lets handlers in any language do it,
//! [`intents`] sends what handlers want sent, [`source`] is where messages come from, [`receiver`] stores them, [`alerts`] watches.
//!
//! This crate names no store and decides nothing about records: it asks [`semel_core::inbox`] and does what that says. What is in its memory can be lost
//! at any moment. If the store cannot answer, nothing runs and nothing is acknowledged.

pub mod alerts;
pub mod deliver;
pub mod engine;
mod exchange;
pub mod handler;
pub mod intents;
pub mod keys;
mod log;
pub mod observer;
mod pause;
pub mod policy;
pub mod receiver;
pub mod source;
mod trace;
pub mod vendors;

pub use deliver::HttpHandler;
pub use engine::{Builder, CircuitState, CircuitView, Engine, Running, Settings, Solo};
pub use exchange::{HttpClient, client_builder};
pub use handler::{Ctx, Done, Failure, Handler, Handling, handler_fn};
pub use observer::{AttemptEnd, NoObserver, Observer};
pub use policy::{Ack, Alerts, Consumer, Replay, Retry};
pub use receiver::Receiver;
pub use source::{FileSource, Rule, Signature, Source, Webhook};
pub use vendors::Vendor;
