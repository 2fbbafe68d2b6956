//! Delivery by HTTP: handlers in any language.
//!
//! Each attempt is a `POST` of the message's payload with the message's own headers and these:
//!
//! | header | what it says |
//! |---|---|
//! | `Idempotency-Key` | the message's id. An id that cannot stand there (not printable ASCII, a `"` or a space in front, `semel:` in front) is replaced by `semel:` and a hash of it |
//! | `Semel-Consumer` | the consumer, as `name@version` |
//! | `Semel-Message-Id` | the message's id, percent-encoded where it is not printable ASCII |
//! | `Semel-Attempt` | which attempt this is, from 1 |
//! | `Semel-Fence` | the fence of the claim; it grows with every claim |
//! | `Semel-Replay` | `true` if the message was completed before and is replayed |
//! | `Semel-Generation` | how often it was replayed or retried by hand |
//! | `Semel-Message-Type` | the kind of event, if it has one |
//! | `Semel-Key` | the key that orders it, if it has one |
//! | `Semel-Sequence` | its number under that key, if it has one |
//! | `Semel-Steps` | the steps that are done, with their results |
//! | `Semel-Dropped-Headers` | the names of the message's headers that HTTP cannot carry, percent-encoded and separated by commas |
//!
//! Nothing of that can come from the message itself. The answer decides:
//!
//! | answer | the message |
//! |---|---|
//! | 2xx | COMPLETED; status, some headers and the body up to 64 KiB are its outcome |
//! | 2xx with `Semel-Step: NAME` | the body is the result of that step; it is remembered, and the message delivered again at once |
//! | 2xx of type `application/vnd.semel.intents+json` | COMPLETED, with intents; see below |
//! | 408, 425, 429, 5xx, no answer in time, no connection | FAILED_RETRYABLE, not before `Retry-After` |
//! | 409 with a problem of Semel's own (the handler stands behind Semel itself) | FAILED_RETRYABLE |
//! | any other | FAILED_TERMINAL |
//! | `Semel-Outcome: final` | COMPLETED if 2xx, otherwise FAILED_TERMINAL |
//! | `Semel-Outcome: retryable` | FAILED_RETRYABLE |
//! | `Semel-Outcome: park` | PARKED |
//! | `Semel-Outcome: skip` | SKIPPED_DUPLICATE |
//!
//! `Semel-Steps` is a dictionary of byte sequences (RFC 9651) in the order in which the steps were done:
//! `charge=:eyJpZCI6N30=:, mail=::`. Over HTTP a result has at most 4 KiB, there are at most 64 steps, and their names are
//! keys of RFC 9651 (lower-case letters, digits, `_`, `-`, `.`, `*`). All results travel in one header, and servers limit those, often to 8 KiB: results
//! should be ids rather than documents.
//!
//! The document with intents is `{"result": …, "intents": [{"name", "target", "body" | "body_text" | "body_base64", "headers", "id"}]}`;
//! the result is the outcome.

mod answer;
mod headers;
mod http;
mod intents;
mod steps;

pub(crate) use headers::{is_own as is_own_header, own as own_headers};
pub use http::HttpHandler;
