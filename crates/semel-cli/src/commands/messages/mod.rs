//! What the verbs about messages share: `inbox`, `dlq`, `replay` and `audit`.
//!
//! - `open` opens the inbox, and knows the consumers' policies.
//! - `select` says which messages are meant; `change` changes them and says what became of it.
//! - `table` lists messages; `words` says in words why a message is where it is.

mod change;
mod open;
mod select;
mod table;
mod words;

pub(crate) use change::{Change, ChangeArgs, reason};
pub(crate) use open::{OpenInbox, Purpose};
pub(crate) use select::Select;
pub(crate) use table::list;
pub(crate) use words::{command, flat, not_found, one_line, why};
