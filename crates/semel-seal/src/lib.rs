//! Seals what stores keep: bodies and headers of outcomes, payloads and headers of messages, results of steps, answers of handlers.
//!
//! [`Sealed`] stands in front of any [`Store`](semel_core::Store) and [`SealedInbox`] in front of any [`Inbox`](semel_core::Inbox). Each tenant has a data key of its own, which
//! the [`Keyring`] draws at random, keeps in the same store, wrapped by a key-encryption key ([`Kek`]) of the configuration, and caches in memory.
//! Erasing a tenant destroys its data key: what was sealed under it is unreadable from then on, wherever copies lie, and its records go on
//! suppressing duplicates. A key retires before it is destroyed, so that no process seals under a key that is gone.
//!
//! - `cipher` is XChaCha20-Poly1305 with a nonce that follows from what is sealed; `kek` wraps data keys.
//! - `keyring` finds and caches data keys, `found` is what it knows of a tenant's, `wrapped` how records hold them; `make` makes them, `rotation` wraps
//!   them anew, `erasure` destroys them.
//! - `contents` knows which parts of outcomes and messages are sealed.
//! - `store` and `inbox` are the layers; `jobs` opens what an inbox claimed, `shown` what people look at.
//!
//! Not sealed, because records must work without keys and people must find them: identities, fingerprints, statuses, lengths, what was asked
//! ([`About`](semel_core::About)), error texts and reasons. Transactions of the user (`settle_in`, `finish_in`, `receive_in`) go past these layers and write plain.

mod cipher;
mod contents;
mod erasure;
mod found;
mod inbox;
mod jobs;
mod kek;
mod keyring;
mod make;
mod rotation;
mod shown;
mod store;
mod wrapped;

pub use cipher::OVERHEAD;
pub use erasure::{Erased, When};
pub use inbox::SealedInbox;
pub use kek::{KEKS_MAX, Kek};
pub use keyring::{KEY_AGE_MAX, Keyring, RETIRES_FOR, TENANTS_MAX};
pub use rotation::Rotated;
pub use store::Sealed;
