//! What the verbs about messages share: `inbox`, `dlq`, `replay` and `audit`.
//!
//! - `open` opens the inbox, and knows the consumers' policies.
//! - `select` says which messages are meant; `change` changes them and says what became of it.
//! - `url` is a broker on the command line; `intake` receives what a source delivers, and `drain` reads a broker until it has nothing more.
//! - `table` lists messages; `words` says in words why a message is where it is.

mod change;
pub(crate) mod drain;
pub(crate) mod intake;
mod open;
mod select;
mod table;
pub(crate) mod url;
mod words;

pub(crate) use change::{Change, ChangeArgs, reason};
pub(crate) use open::{OpenInbox, Purpose};
pub(crate) use select::Select;
pub(crate) use table::list;
pub(crate) use words::{command, flat, not_found, one_line, why};
