//! What values are made of: words with a meaning, short and long forms, lists of one.

mod bytes;
mod either;
mod many;
mod secret;
mod store_url;
mod text;
mod url;
mod word;

pub use bytes::Size;
pub(crate) use either::Either;
pub use many::Many;
pub use secret::Secret;
pub use store_url::{Address, Engine, StoreUrl};
pub use text::{Count, KeyBytes, Name};
pub use url::{RECONCILE_FIELDS, Reconcile, Service};
pub use word::{Refusal, Text, Word};
