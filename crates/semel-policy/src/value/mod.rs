//! What values are made of: words with a meaning, short and long forms, lists of one.

mod broker_url;
mod bytes;
mod choice;
mod destination;
mod either;
mod listen;
mod many;
mod named;
mod number;
mod outcomes;
mod rate;
mod secret;
mod source_url;
mod store_url;
mod text;
mod token;
mod url;
mod word;

pub use broker_url::{Broker, BrokerUrl};
pub use bytes::Size;
pub use choice::{Choice, Listed};
pub use destination::Destination;
pub(crate) use either::{Either, words_as_maps};
pub use listen::Listen;
pub use many::Many;
pub use named::Named;
pub use number::{Attempts, Days, Messages, Seconds, Version, View, Workers};
pub use outcomes::OutcomesAt;
pub use rate::{ByteRate, Rate};
pub use secret::Secret;
pub use source_url::SourceUrl;
pub use store_url::{Address, Engine, StoreUrl};
pub use text::{Count, KeyBytes, Name};
pub use token::{Expiry, ScopePrefix, TokenHash, TokenName};
pub use url::{Endpoint, RECONCILE_FIELDS, Reconcile, Service};
pub use word::{Refusal, Text, Word};
