//! A client that retries safely: one key per operation, the same on every try.
//!
//! A request that got no answer may have taken effect. This crate gives each operation a
//! key, sends it in `Idempotency-Key`, and repeats the same bytes under the same key until
//! the server settles it; a server that speaks the protocol, such as Semel, makes the
//! effect happen once and replays its outcome.
//!
//! ```no_run
//! use semel_client::{Client, Key, Kind, reqwest};
//!
//! # async fn pay() -> Result<(), Box<dyn std::error::Error>> {
//! # fn store(_: &Key) {}
//! let client = Client::new(reqwest::Client::new());
//!
//! let key = Key::generate();
//! store(&key); // Whoever takes over after a crash sends the same request with this key.
//!
//! let payment = client
//!     .post("http://payments.internal/payments")
//!     .header("authorization", "Bearer token")
//!     .json_bytes(r#"{"amount":100,"currency":"EUR"}"#)
//!     .key(key);
//!
//! match payment.send().await {
//!     Ok(response) if response.is_replayed() => println!("was paid before: {}", response.status()),
//!     Ok(response) => println!("{} after {} tries", response.status(), response.tries()),
//!     Err(error) if error.kind() == Kind::OutcomeUnknown => println!("ask a person: {error}"),
//!     Err(error) if error.is_retryable() => println!("send the same again later: {error}"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What any client must do
//!
//! Whatever language a client is written in:
//!
//! - **Reuse the key for the same operation.** A retry, by the program or by a person, sends
//!   the same key and the same bytes.
//! - **A new key means a new effect.** Make it where the operation is decided, not where the
//!   request is sent.
//! - **Persist the key before the first try** if the process may die in between, together
//!   with what is needed to send the same request again.
//! - **Never retry a mismatch.** `422` with `key-reused` says that the key belongs to another
//!   request: a bug, which a fresh key would turn into a second effect.
//! - **Never retry an unknown outcome.** The problem `outcome-unknown`, under `409` or `500`,
//!   waits for a person or the provider; a fresh key would gamble.
//! - **Honour `Retry-After`**, back off with jitter, and stop at a limit.
//!
//! # What is tried again
//!
//! Connections that fail or break, timeouts, 408, 425, 429, 502, 503 and 504, and the
//! problem `urn:semel:problem:in-progress` under 202 or 409. A 500 is not: Semel keeps it as
//! the outcome. An answer that the server marked as replayed never is. [`Retry`] states the
//! limits; [`Error`] says how it ended otherwise.
//!
//! # What it does not do
//!
//! It stores nothing: a key that must outlive the process is the caller's to keep. It has no
//! circuit breaker. `https` needs TLS in the HTTP client: the feature `rustls`, or any TLS
//! feature of [`reqwest`].
//!
//! # How to read this crate
//!
//! `advice` decides what an answer means, purely. `tries` is the loop; `exchange` is one
//! try on the wire; `retry` and `retry_after` say how long to wait.

mod advice;
mod client;
mod error;
mod exchange;
mod key;
mod request;
mod response;
mod retry;
mod retry_after;
mod tries;

pub use client::{BODY_BYTES_MAX, Client, KEY_HEADER};
pub use error::{Cause, Error, Kind, Result};
pub use key::{KEY_BYTES_MAX, Key};
pub use request::Request;
/// The HTTP client underneath, re-exported so that its version is the right one.
pub use reqwest;
pub use response::Response;
pub use retry::{Retry, TIME_MAX, TRIES_MAX};
