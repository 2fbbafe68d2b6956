//! The HTTP semantics of Semel: one implementation for the gateway and for the tower layer.
//!
//! Read it in this order:
//!
//! 1. [`rules`] is everything that a route decides by; [`profile`] sets them as a vendor documents it.
//! 2. [`key`], [`tenant`] and [`fingerprint`] find out which operation a request means, on whose
//!    behalf, and what it asks for.
//! 3. [`guard`] brings them together with [`semel_core::Once`]: admit a request, run it, replay it.
//! 4. [`problem`] is how refusals look (RFC 9457); [`replay`] turns responses into outcomes and back.
//!    [`outcomes`] is where callers fetch an outcome by its key; [`stored`] is what of an outcome reaches the store.
//! 5. [`reserved`] keeps what only Semel may say out of requests and responses.
//! 6. [`observe`] lets everything through and counts what would have been refused or replayed.
//! 7. [`memory`] bounds the bytes that bodies hold; [`quota`] what each tenant may bring.
//! 8. [`layer`] is the door for Rust services.
//! 9. [`mcp`] reads the messages of agents, whose calls of tools take effect once.
//! 10. [`policy`] is what callers may know of all this, as a document.
//! 11. [`trace`] says to traces what a request caused, in the words of OpenTelemetry.
//! 12. [`spelling`], [`pattern`] and [`host`] are how a door that has routes finds the one that a request means.
//!
//! This crate opens no socket and names no store. Whoever forwards a request (a proxy, an inner
//! service) does so behind [`guard::Upstream`].

pub mod body;
pub mod event;
pub mod fingerprint;
pub mod guard;
pub mod host;
pub mod key;
pub mod layer;
pub mod mcp;
pub mod memory;
pub mod observe;
pub mod outcomes;
pub mod path;
pub mod pattern;
pub mod policy;
pub mod problem;
pub mod profile;
pub mod quota;
pub mod replay;
pub mod reserved;
pub mod rules;
pub mod spelling;
pub mod stored;
pub mod tenant;
pub mod trace;

pub use body::{AnyBody, Body};
pub use event::{Event, RequestObserver, What};
pub use guard::{Admission, Admitted, Budgets, Failure, Guard, Handover, Upstream};
pub use layer::SemelLayer;
pub use memory::Memory;
pub use problem::{Problem, Type};
pub use profile::Profile;
pub use quota::Quotas;
pub use rules::Rules;
