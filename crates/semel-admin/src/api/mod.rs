//! The API: claims for programs in any language; records and messages for operators.
//!
//! Every answer is JSON; every refusal is a problem of RFC 9457. The rules are the library's own:
//! a handler reads its input, calls one verb of the store, and says what came of it.

pub(crate) mod alerts;
pub(crate) mod audit;
pub(crate) mod claims;
pub(crate) mod duplicates;
pub(crate) mod fields;
pub(crate) mod inbox;
pub(crate) mod observations;
pub(crate) mod outcome;
pub(crate) mod problem;
pub(crate) mod records;
pub(crate) mod stats;
