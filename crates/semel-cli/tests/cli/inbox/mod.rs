//! The verbs about messages: `inbox`, `dlq`, `replay` and `audit`, on a real store.

mod deciding;
mod filler;
mod looking;
mod replaying;
mod sending;
