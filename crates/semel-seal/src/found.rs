//! What is known of a tenant's data keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{Error, Kind, Record, Result, Retention, State, Tenant, Timestamp};
use tokio::time::Instant;

use crate::cipher::{DataKey, KeyId};
use crate::kek::Kek;
use crate::keyring::{KEY_AGE_MAX, TENANTS_MAX};
use crate::wrapped::{SLOTS, Wrapped, beside, retired, retiring};

/// How long a key still opens at least when something is sealed under it. Its record is kept for [`Retention::MAX`] and no longer, so that another key follows
/// it in time.
const OPENS_FOR: Duration = Retention::MAX.checked_div(2).expect("two is not zero");

/// The data keys of a tenant, by slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found([Slot; SLOTS.len()]);

/// What a slot holds.
#[derive(Debug, Clone, Default)]
enum Slot {
    /// No key, or no longer.
    #[default]
    Empty,
    /// A key.
    Open { key: Arc<DataKey>, retires: bool },
    /// A key wrapped by a key-encryption key that this process does not have.
    Locked {
        id: KeyId,
        kek: Arc<str>,
        retires: bool,
    },
}

/// What there is to seal with.
pub(crate) enum Sealing {
    /// This key.
    With(Arc<DataKey>),
    /// None yet; the slot for one.
    Make(&'static str),
}

impl Found {
    /// The names of the records that say it, for [`Self::of`].
    pub(crate) fn names(keks: &[Kek]) -> Vec<String> {
        let of_slot = |slot: &str| {
            let sides = keks.iter().map(|kek| beside(slot, kek.id()));
            let names = [slot.to_owned(), retiring(slot)];
            names.into_iter().chain(sides).collect::<Vec<_>>()
        };
        SLOTS.into_iter().flat_map(of_slot).collect()
    }

    /// What the records of these names say.
    pub(crate) fn of(
        tenant: &Tenant,
        keks: &[Kek],
        records: &[Option<Arc<Record>>],
        now: Timestamp,
    ) -> Result<Self> {
        let mut slots = <[Slot; SLOTS.len()]>::default();
        for (slot, records) in slots.iter_mut().zip(records.chunks(2 + keks.len())) {
            *slot = Slot::of(tenant, keks, records, now)?;
        }
        Ok(Self(slots))
    }

    /// The key with this id.
    pub(crate) fn key(&self, wanted: KeyId) -> Option<&DataKey> {
        self.0.iter().find_map(|slot| match slot {
            Slot::Open { key, .. } if key.id() == wanted => Some(&**key),
            _ => None,
        })
    }

    /// The key-encryption key that wraps the key with this id, which this process cannot unwrap.
    pub(crate) fn locked(&self, wanted: KeyId) -> Option<&str> {
        self.0.iter().find_map(|slot| match slot {
            Slot::Locked { id, kek, .. } if *id == wanted => Some(&**kek),
            _ => None,
        })
    }

    /// A key-encryption key that this process does not have, of any of the keys.
    pub(crate) fn any_locked(&self) -> Option<&str> {
        self.0.iter().find_map(|slot| match slot {
            Slot::Locked { kek, .. } => Some(&**kek),
            _ => None,
        })
    }

    /// What to seal with: never under a key that retires.
    pub(crate) fn sealing(&self) -> Result<Sealing> {
        for slot in &self.0 {
            match slot {
                Slot::Open { key, retires } if !retires => return Ok(Sealing::With(key.clone())),
                Slot::Locked { kek, retires, .. } if !retires => return Err(locked(kek)),
                _ => {}
            }
        }
        let empty = SLOTS.iter().zip(&self.0);
        let mut empty = empty.filter(|(_, slot)| matches!(slot, Slot::Empty));
        let (slot, _) = empty.next().ok_or_else(both_retire)?;
        Ok(Sealing::Make(slot))
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|slot| matches!(slot, Slot::Empty))
    }
}

impl Slot {
    fn of(
        tenant: &Tenant,
        keks: &[Kek],
        records: &[Option<Arc<Record>>],
        now: Timestamp,
    ) -> Result<Self> {
        let (primary, mark, sides) = match records {
            [Some(primary), mark, sides @ ..] => (primary, mark, sides),
            _ => return Ok(Self::Empty),
        };
        // One that is being made is none yet.
        let State::Settled(settled) = &primary.state else {
            return Ok(Self::Empty);
        };
        let is_old = settled.expires_at.since(now) < OPENS_FOR;
        let primary = Wrapped::of(primary).ok_or_else(|| unreadable(tenant))?;
        let retires = is_old || mark.as_deref().and_then(retired) == Some(primary.id);
        let sides = sides.iter().flatten().filter_map(|side| Wrapped::of(side));
        let sides: Vec<_> = sides.filter(|side| side.id == primary.id).collect();
        let mut wrapped = std::iter::once(&primary).chain(&sides);
        Ok(match wrapped.find_map(|one| one.open(tenant, keks)) {
            Some(secret) => Self::Open {
                key: Arc::new(DataKey::new(&secret)),
                retires,
            },
            None => Self::Locked {
                id: primary.id,
                kek: primary.kek.as_str().into(),
                retires,
            },
        })
    }
}

fn unreadable(tenant: &Tenant) -> Error {
    let message = format!(
        "the record of tenant {tenant}'s data key holds no wrapped key: restore it from a backup, or destroy it with `semel encryption erase` if what is sealed under it may be lost"
    );
    Error::new(Kind::Damaged, message).about_an_item()
}

fn both_retire() -> Error {
    let message = "two data keys of the tenant are being destroyed, a new one is made when the first is gone; if an erasure broke off, run it again";
    Error::new(Kind::Unavailable, message).about_an_item()
}

pub(crate) fn locked(kek: &str) -> Error {
    let message = format!(
        "the contents are sealed under the key {kek:?}, which is not among encryption.keys of this process or has another secret"
    );
    Error::new(Kind::Unavailable, message).about_an_item()
}

/// What a process remembers of tenants' keys. Two generations: when the first is full it takes the place of the second, so that a tenant that is not
/// asked for is forgotten without a search for it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    young: HashMap<Tenant, Entry>,
    old: HashMap<Tenant, Entry>,
    /// How often something had to be forgotten: what was looked for before is not remembered after.
    forgotten: u64,
}

#[derive(Debug)]
struct Entry {
    found: Found,
    at: Instant,
}

impl Known {
    pub(crate) fn get(&self, tenant: &Tenant, now: Instant) -> Option<Found> {
        let entry = self.young.get(tenant).or_else(|| self.old.get(tenant))?;
        (now.duration_since(entry.at) < KEY_AGE_MAX).then(|| entry.found.clone())
    }

    /// What to hand to [`Self::put`] after a look that begins now.
    pub(crate) const fn epoch(&self) -> u64 {
        self.forgotten
    }

    /// Remembers what a look that began `at` has found. That there is no key is not remembered: the next caller makes it.
    pub(crate) fn put(&mut self, tenant: &Tenant, found: &Found, at: Instant, epoch: u64) {
        if epoch != self.forgotten {
            return;
        }
        self.old.remove(tenant);
        if found.is_empty() {
            self.young.remove(tenant);
            return;
        }
        if self.young.len() >= TENANTS_MAX / 2 && !self.young.contains_key(tenant) {
            self.old = std::mem::take(&mut self.young);
        }
        let found = found.clone();
        self.young.insert(tenant.clone(), Entry { found, at });
    }

    pub(crate) fn forget(&mut self, tenant: &Tenant) {
        self.forgotten += 1;
        self.young.remove(tenant);
        self.old.remove(tenant);
    }

    pub(crate) fn clear(&mut self) {
        self.forgotten += 1;
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded_in_number_and_age() {
        let mut known = Known::default();
        let tenant = |number: usize| Tenant::new(number.to_string()).unwrap();
        let slot = Slot::Locked {
            id: KeyId::default(),
            kek: "a".into(),
            retires: false,
        };
        let found = Found([slot, Slot::Empty]);
        let at = Instant::now();
        for number in 0..=TENANTS_MAX {
            known.put(&tenant(number), &found, at, known.epoch());
        }
        assert!(known.young.len() + known.old.len() <= TENANTS_MAX);
        assert!(known.get(&tenant(TENANTS_MAX), at).is_some());
        assert!(known.get(&tenant(0), at).is_none());
        let later = at + KEY_AGE_MAX;
        assert!(known.get(&tenant(TENANTS_MAX), later).is_none());
        // A look that began before something was forgotten does not bring it back.
        let before = known.epoch();
        known.forget(&tenant(TENANTS_MAX));
        known.put(&tenant(TENANTS_MAX), &found, at, before);
        assert!(known.get(&tenant(TENANTS_MAX), at).is_none());
    }
}
