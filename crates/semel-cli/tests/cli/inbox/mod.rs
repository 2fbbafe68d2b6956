//! The verbs about messages: `inbox`, `dlq`, `replay` and `audit`, on a real store.

mod checking;
mod deciding;
mod docs;
mod filler;
mod looking;
mod operating;
mod replaying;
mod sending;
