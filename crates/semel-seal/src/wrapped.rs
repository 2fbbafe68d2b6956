//! Data keys as records hold them, and the names of those records.
//!
//! A tenant has two slots, so that it can have a key that retires and one that follows it. The record `1` or `2` holds the key of a slot, wrapped by
//! the key-encryption key of the process that made it; `1:ID` beside it holds the same key wrapped by another one. `retiring:1` says that nothing is to
//! be sealed any more under the key whose id it holds.

use bytes::Bytes;
use semel_core::{Identity, Key, Record, Result, Scope, State, Tenant};

use crate::cipher::KeyId;
use crate::kek::Kek;

/// The scope of data keys, which only the keyring uses.
pub(crate) const SCOPE: &str = "semel:data-key";
/// The slots of a tenant.
pub(crate) const SLOTS: [&str; 2] = ["1", "2"];

/// A data key as a record holds it.
pub(crate) struct Wrapped {
    pub(crate) id: KeyId,
    pub(crate) kek: String,
    bytes: Bytes,
}

impl Wrapped {
    pub(crate) fn new(id: KeyId, kek: &Kek, tenant: &Tenant, secret: &[u8; 32]) -> Result<Self> {
        Ok(Self {
            id,
            kek: kek.id().to_owned(),
            bytes: kek.wrap(tenant, secret)?.into(),
        })
    }

    /// The wrapped key that a record holds; `None` if it holds none.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let mut body = body(record)?.clone();
        let id: KeyId = *body.first_chunk()?;
        let len = usize::from(*body.get(id.len())?);
        let from = id.len() + 1;
        let kek = std::str::from_utf8(body.get(from..from + len)?).ok()?;
        let kek = kek.to_owned();
        let bytes = body.split_off(from + len);
        Some(Self { id, kek, bytes })
    }

    pub(crate) fn encode(&self) -> Bytes {
        let len = u8::try_from(self.kek.len()).expect("the id of a key is short");
        [&self.id, [len].as_slice(), self.kek.as_bytes(), &self.bytes]
            .concat()
            .into()
    }

    pub(crate) fn open(&self, tenant: &Tenant, keks: &[Kek]) -> Option<[u8; 32]> {
        let mut keks = keks.iter().filter(|kek| kek.id() == self.kek);
        keks.find_map(|kek| kek.unwrap(tenant, &self.bytes))
    }
}

/// The id of the wrapped key that a record holds.
pub(crate) fn id_of(record: &Record) -> Option<KeyId> {
    Wrapped::of(record).map(|wrapped| wrapped.id)
}

fn body(record: &Record) -> Option<&Bytes> {
    match &record.state {
        State::Settled(settled) => settled.outcome.body.kept(),
        State::Running { .. } | State::Unknown { .. } => None,
    }
}

/// The id of the key that a mark of retirement is about.
pub(crate) fn retired(mark: &Record) -> Option<KeyId> {
    body(mark)?.first_chunk().copied()
}

/// The identity of a tenant's record of this name.
pub(crate) fn identity(tenant: &Tenant, name: &str) -> Identity {
    let key = Key::new(name).expect("an id of a key is a short text");
    Identity::new(tenant.clone(), scope(), key)
}

/// The record that says of a store that data keys are in it. It is there before the first of them.
pub(crate) fn mark_of_store() -> Identity {
    identity(&of_the_store(), "sealed")
}

/// The record of who had data keys wrapped under this key-encryption key.
pub(crate) fn rotation_to(kek: &str) -> Identity {
    identity(&of_the_store(), &format!("rotation:{kek}"))
}

/// Whose records those are that are about all tenants.
fn of_the_store() -> Tenant {
    Tenant::new("semel").expect("a short text")
}

/// The name of the record of a slot's key, wrapped by another key-encryption key than the one that made it.
pub(crate) fn beside(slot: &str, kek: &str) -> String {
    format!("{slot}:{kek}")
}

/// The name of the mark that the key of a slot retires.
pub(crate) fn retiring(slot: &str) -> String {
    format!("retiring:{slot}")
}

/// The slot whose key a record holds beside the one that counts, by its name.
pub(crate) fn slot_beside(name: &str) -> Option<&'static str> {
    let (slot, _) = name.split_once(':')?;
    SLOTS.into_iter().find(|known| *known == slot)
}

pub(crate) fn scope() -> Scope {
    Scope::new(SCOPE, 1).expect("the scope of data keys is a short text")
}
