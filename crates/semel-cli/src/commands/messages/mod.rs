//! What the verbs about messages share: `inbox`, `dlq`, `replay` and `audit`.
//!
//! - `desk` opens the inbox, and knows the consumers' policies.
//! - `select` says which messages are meant; `hand` changes them and says what became of it.
//! - `table` lists messages; `words` says in words why a message is where it is.

mod desk;
mod hand;
mod select;
mod table;
mod words;

pub(crate) use desk::{ConfigArg, Desk, Purpose};
pub(crate) use hand::{Change, Hand};
pub(crate) use select::Select;
pub(crate) use table::list;
pub(crate) use words::{command, not_found, one_line, why};
