//! Delivery by HTTP: handlers in any language.
//!
//! Each attempt is a `POST` of the message's payload with the message's own headers and these:
//!
//! | header | what it says |
//! |---|---|
//! | `Idempotency-Key` | names this message to this consumer for this tenant: `CONSUMER@VERSION:ID`, with `TENANT/` in front unless the tenant is public; what is not printable ASCII and what separates the parts is percent-encoded, and a text above 255 bytes is `semel-` and its hash. The same on every attempt and every replay, and safe to hand to a provider. Only an operator's retry with a new key changes it, by `:key-N` at its end |
//! | `Semel-Consumer` | the consumer, as `name@version` |
//! | `Semel-Message-Id` | the message's id, percent-encoded where it is not printable ASCII |
//! | `Semel-Tenant` | on whose behalf, percent-encoded alike; `public` without one |
//! | `Semel-Attempt` | which attempt this is, from 1 |
//! | `Semel-Fence` | the fence of the claim; it grows with every claim |
//! | `Semel-Replay` | `true` if the message was completed before and is replayed |
//! | `Semel-Generation` | how often it was replayed or retried by hand |
//! | `Semel-Edited` | which edit of an operator its payload and headers are from; absent if they are as they arrived |
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
//! | 408, 409, 423, 425, 429, 5xx | FAILED_RETRYABLE, not before `Retry-After` |
//! | any other | FAILED_TERMINAL |
//! | none: not in time, or the connection broke after something was sent | unknown: the consumer's [`UnknownPolicy`](semel_core::inbox::UnknownPolicy) decides between FAILED_RETRYABLE and PARKED |
//! | none: not reached | FAILED_RETRYABLE, and the attempt does not count |
//! | `Semel-Outcome: final` | COMPLETED, whatever the status |
//! | `Semel-Outcome: retryable` | FAILED_RETRYABLE, whatever the status |
//! | `Semel-Outcome: park` | PARKED, whatever the status |
//! | `Semel-Outcome: skip` | SKIPPED_DUPLICATE, whatever the status |
//!
//! The first 4 KiB of the body of a failed answer are kept with the attempt, for operators; they are never logged.
//!
//! A handler that is not reached, does not answer in time or whose proxy answers 502, 503 or 504, a few times in a row, opens the consumer's
//! circuit, and so does one 429 or 503 with `Retry-After`: its messages wait, one of them finds out whether it is back, and then they
//! go on by themselves.
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
