//! Seals what stores keep: bodies and headers of outcomes, payloads and headers of messages, results of steps, answers of handlers.
//!
//! [`Sealed`] stands in front of any [`Store`](semel_core::Store) and [`SealedInbox`] in front of any [`Inbox`](semel_core::Inbox). Each tenant has a data key of its own, which
//! the [`Keyring`] draws at random, keeps in the same store, wrapped by a key-encryption key ([`Kek`]) of the configuration, and caches in memory.
//! Erasing a tenant destroys its data key: what was sealed under it is unreadable at once, wherever copies lie, and its records go on
//! suppressing duplicates.
//!
//! - `cipher` is XChaCha20-Poly1305 with a nonce that follows from what is sealed; `kek` wraps data keys.
//! - `keyring` finds, makes, caches and forgets data keys; `rotation` wraps them anew and erases them.
//! - `contents` knows which parts of outcomes and messages are sealed.
//! - `store` and `inbox` are the layers.
//!
//! Not sealed, because records must work without keys and people must find them: identities, fingerprints, statuses, lengths, what was asked
//! ([`About`](semel_core::About)), error texts and reasons. Transactions of the user (`settle_in`, `finish_in`, `receive_in`) go past these layers and write plain.

mod cipher;
mod contents;
mod inbox;
mod kek;
mod keyring;
mod rotation;
mod store;

pub use cipher::OVERHEAD;
pub use inbox::SealedInbox;
pub use kek::{KEKS_MAX, Kek};
pub use keyring::{KEY_AGE_MAX, Keyring, TENANTS_MAX};
pub use rotation::{Erased, Rotated};
pub use store::Sealed;
