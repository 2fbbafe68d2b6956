//! Wraps data keys anew under the key-encryption key that is first.

use std::sync::Arc;

use semel_core::record::UnknownCause;
use semel_core::store::{
    Actor, ClaimAnswer, Cursor, MarkRequest, Query, Reason, Resolution, ResolveAnswer,
    ResolveRequest,
};
use semel_core::{Claim, Error, Outcome, Record, Result, StoreExt, Tenant};

use crate::erasure::{busy, component};
use crate::kek::Kek;
use crate::keyring::Keyring;
use crate::make::{claim, longest};
use crate::wrapped::{SLOTS, Wrapped, beside, id_of, identity, rotation_to, scope, slot_beside};

/// What one step of a rotation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Data keys that were looked at; a tenant whose key is being destroyed has two.
    pub tenants: usize,
    /// Data keys that were wrapped anew.
    pub wrapped: usize,
    /// Data keys that another process changed at the same moment: the rotation is to be repeated for them.
    pub pending: usize,
    /// Tenants whose data keys are wrapped by a key that this process does not have, at most 100 by name.
    pub locked: Vec<Tenant>,
    /// Where the next step goes on, if there is one.
    pub next: Option<Cursor>,
}

/// What became of one data key.
enum Wrapping {
    /// It is wrapped by the first key.
    IsThere,
    /// It is now.
    Done,
    /// Another process was at it.
    Pending,
    /// It cannot be unwrapped.
    Locked,
}

/// The most tenants that a step names.
const NAMED_MAX: usize = 100;
/// How often a wrapping is tried that another process is at, too.
const TRIES_MAX: usize = 3;

impl Keyring {
    /// One bounded step: wraps the data keys of up to `limit` records anew where the first key-encryption key does not wrap them yet. Repeating a
    /// step changes nothing, so a rotation that broke off begins again or goes on at its cursor.
    pub async fn rotate(&self, before: Option<Cursor>, limit: usize) -> Result<Rotated> {
        let page = self.0.store.list(Query {
            scope: Some(scope().to_string()),
            before,
            limit,
            ..Query::default()
        });
        let page = page.await?;
        let mut rotated = Rotated {
            next: page.next,
            ..Rotated::default()
        };
        for record in &page.records {
            let (tenant, name) = (record.identity.tenant(), record.identity.key().as_str());
            if let Some(slot) = SLOTS.into_iter().find(|slot| *slot == name) {
                rotated.count(tenant, &self.wrap_anew(tenant, slot).await?);
            } else if let Some(slot) = slot_beside(name) {
                self.drop_orphan(tenant, slot, name).await?;
            }
        }
        Ok(rotated)
    }

    /// Puts on record who has data keys wrapped under the first key-encryption key, and why: a decision about a record of its own, which the audit shows.
    pub async fn note_rotation(&self, by: &Actor, reason: Option<&Reason>) -> Result<()> {
        let keks = self.keks();
        let first = keks.first().ok_or_else(keyless)?;
        let identity = rotation_to(first.id());
        let store = &self.0.store;
        let outcome = Outcome::succeeded("");
        let retention = longest();
        let (fence, resolution) = match store.claim_one(claim(&identity)).await? {
            ClaimAnswer::Granted(lease) => {
                let mark = MarkRequest {
                    claim: lease.claim.clone(),
                    cause: UnknownCause::RunUndecided,
                    evidence: None,
                };
                store.mark_one(mark).await?;
                (lease.claim.fence, Resolution::Settle { outcome, retention })
            }
            ClaimAnswer::Settled(record) => (record.fence, Resolution::Correct { outcome }),
            ClaimAnswer::Unknown { fence, .. } => {
                (fence, Resolution::Settle { outcome, retention })
            }
            ClaimAnswer::Running { .. } | ClaimAnswer::Mismatch => return Err(busy()),
        };
        let request = ResolveRequest {
            claim: Claim { identity, fence },
            by: by.clone(),
            reason: reason.cloned(),
            resolution,
        };
        match store.resolve_one(request).await? {
            ResolveAnswer::Resolved => Ok(()),
            ResolveAnswer::Refused => Err(busy()),
        }
    }

    async fn wrap_anew(&self, tenant: &Tenant, slot: &str) -> Result<Wrapping> {
        let keks = self.keks();
        let first = keks.first().ok_or_else(keyless)?;
        let Some(primary) = self.look(tenant, slot).await? else {
            return Ok(Wrapping::IsThere);
        };
        if primary.kek == first.id() {
            return Ok(match primary.open(tenant, &keks) {
                Some(_) => Wrapping::IsThere,
                None => Wrapping::Locked,
            });
        }
        let name = beside(slot, first.id());
        for _ in 0..TRIES_MAX {
            match self.settled(identity(tenant, &name)).await? {
                Some(there) if id_of(&there) == Some(primary.id) => {
                    // One that does not open may be what processes with another secret of this name need.
                    return Ok(match opens(&there, tenant, &keks) {
                        true => Wrapping::IsThere,
                        false => Wrapping::Locked,
                    });
                }
                // Of a key that was erased; what is left of it must not stand in the way.
                Some(there) => self.drop_record(&there, &component(), None).await?,
                None => {}
            }
            let Some(secret) = self.unwrapped(tenant, slot, &primary, &keks).await? else {
                return Ok(Wrapping::Locked);
            };
            let wrapped = Wrapped::new(primary.id, first, tenant, &secret)?;
            if self.keep(identity(tenant, &name), wrapped.encode()).await? {
                // An erasure that went by has not seen what was put there.
                self.drop_orphan(tenant, slot, &name).await?;
                return Ok(Wrapping::Done);
            }
        }
        Ok(Wrapping::Pending)
    }

    /// A data key by any of the keys that this process has.
    async fn unwrapped(
        &self,
        tenant: &Tenant,
        slot: &str,
        primary: &Wrapped,
        keks: &[Kek],
    ) -> Result<Option<[u8; 32]>> {
        if let Some(secret) = primary.open(tenant, keks) {
            return Ok(Some(secret));
        }
        for kek in keks {
            let other = self.look(tenant, &beside(slot, kek.id())).await?;
            let other = other.filter(|other| other.id == primary.id);
            if let Some(secret) = other.and_then(|other| other.open(tenant, keks)) {
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }

    /// Takes away what a slot's key left when it was destroyed.
    async fn drop_orphan(&self, tenant: &Tenant, slot: &str, name: &str) -> Result<()> {
        let Some(record) = self.settled(identity(tenant, name)).await? else {
            return Ok(());
        };
        // The key that counts is looked at after the record: one that is made meanwhile has another id.
        match self.settled(identity(tenant, slot)).await? {
            // What is left of a damaged one may be needed.
            Some(primary) if id_of(&primary).is_none() => Ok(()),
            Some(primary) if id_of(&primary) == id_of(&record) => Ok(()),
            _ => self.drop_record(&record, &component(), None).await,
        }
    }

    async fn look(&self, tenant: &Tenant, name: &str) -> Result<Option<Wrapped>> {
        let found: Option<Arc<Record>> = self.settled(identity(tenant, name)).await?;
        Ok(found.as_deref().and_then(Wrapped::of))
    }

    /// Whether every tenant's key opens, in one bounded step: for `semel check`.
    pub async fn check(&self, limit: usize) -> Result<Rotated> {
        let page = self.0.store.list(Query {
            scope: Some(scope().to_string()),
            limit,
            ..Query::default()
        });
        let page = page.await?;
        let mut looked = Rotated {
            next: page.next,
            ..Rotated::default()
        };
        let is_key = |record: &&Record| SLOTS.contains(&record.identity.key().as_str());
        let keys = page.records.iter().filter(is_key);
        let tenants: Vec<_> = keys.map(|record| record.identity.tenant()).collect();
        for (tenant, found) in tenants.iter().zip(self.load(&tenants).await) {
            looked.count(
                tenant,
                &match found?.any_locked() {
                    Some(_) => Wrapping::Locked,
                    None => Wrapping::IsThere,
                },
            );
        }
        Ok(looked)
    }
}

fn keyless() -> Error {
    Error::invalid("there is no key to wrap with: encryption.keys names none")
}

fn opens(record: &Record, tenant: &Tenant, keks: &[Kek]) -> bool {
    let wrapped = Wrapped::of(record);
    wrapped.is_some_and(|wrapped| wrapped.open(tenant, keks).is_some())
}

impl Rotated {
    fn count(&mut self, tenant: &Tenant, wrapping: &Wrapping) {
        self.tenants += 1;
        match wrapping {
            Wrapping::IsThere => {}
            Wrapping::Done => self.wrapped += 1,
            Wrapping::Pending => self.pending += 1,
            Wrapping::Locked if self.locked.len() < NAMED_MAX => self.locked.push(tenant.clone()),
            Wrapping::Locked => {}
        }
    }
}
