//! Wraps data keys anew under the key-encryption key that is first, and erases them.

use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{Actor, Cursor, Query, Reason, Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{Error, Identity, Kind, Record, Result, StoreExt, Tenant};

use crate::keyring::{Found, Keyring, PRIMARY, Wrapped, identity, scope};

/// What one step of a rotation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Tenants whose data keys were looked at.
    pub tenants: usize,
    /// Data keys that were wrapped anew.
    pub wrapped: usize,
    /// Tenants whose data keys are wrapped by a key that this process does not have, at most 100 by name.
    pub locked: Vec<Tenant>,
    /// Where the next step goes on, if there is one.
    pub next: Option<Cursor>,
}

/// What an erasure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// The data key is destroyed; processes that know it forget it within so long.
    Forgotten {
        /// [`KEY_AGE_MAX`](crate::KEY_AGE_MAX).
        within: Duration,
    },
    /// The tenant has no data key.
    NoKey,
}

/// The most tenants that a step names.
const NAMED_MAX: usize = 100;

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
        let primary = |record: &&Record| record.identity.key().as_str() == PRIMARY;
        for record in page.records.iter().filter(primary) {
            let tenant = record.identity.tenant();
            rotated.tenants += 1;
            match self.wrap_anew(tenant).await? {
                Some(true) => rotated.wrapped += 1,
                Some(false) => {}
                None if rotated.locked.len() < NAMED_MAX => rotated.locked.push(tenant.clone()),
                None => {}
            }
        }
        Ok(rotated)
    }

    /// Whether a tenant's key had to be wrapped anew; `None` if it cannot be unwrapped.
    async fn wrap_anew(&self, tenant: &Tenant) -> Result<Option<bool>> {
        let keks = self.keks();
        let first = keks.first().ok_or_else(|| {
            Error::invalid("there is no key to wrap with: encryption.keys names none")
        })?;
        let Some(primary) = self.look(tenant, PRIMARY).await? else {
            return Ok(Some(false));
        };
        if primary.kek == first.id() {
            return Ok(primary.open(tenant, &keks).map(|_| false));
        }
        let name = format!("{PRIMARY}:{}", first.id());
        match self.look(tenant, &name).await? {
            Some(there) if there.id == primary.id => return Ok(Some(false)),
            // Of a key that was erased; what is left of it must not stand in the way.
            Some(_) => {
                let by = Actor::component("encryption");
                self.erase_one(identity(tenant, &name), &by, None).await?;
            }
            None => {}
        }
        let mut secret = primary.open(tenant, &keks);
        for kek in keks.iter().skip(1) {
            if secret.is_none() {
                let other = self
                    .look(tenant, &format!("{PRIMARY}:{}", kek.id()))
                    .await?;
                let other = other.filter(|other| other.id == primary.id);
                secret = other.and_then(|other| other.open(tenant, &keks));
            }
        }
        let Some(secret) = secret else {
            return Ok(None);
        };
        let wrapped = Wrapped::new(primary.id, first, tenant, &secret)?;
        self.keep(identity(tenant, &name), &wrapped).await.map(Some)
    }

    async fn look(&self, tenant: &Tenant, name: &str) -> Result<Option<Wrapped>> {
        let found = self.0.store.look_up_one(identity(tenant, name)).await?;
        Ok(found.as_deref().and_then(Wrapped::of))
    }

    /// Destroys a tenant's data key, by a person's decision, which stands in the audit. All that was sealed under it is unreadable from then on, in
    /// copies too; its records go on suppressing duplicates. A new one is made when the tenant comes again.
    pub async fn erase(&self, tenant: &Tenant, by: &Actor, reason: &Reason) -> Result<Erased> {
        // The record that counts goes first: without it the others open nothing.
        let names = self.names(tenant).await?;
        let mut erased = false;
        for name in std::iter::once(PRIMARY).chain(names.iter().map(String::as_str)) {
            erased |= self
                .erase_one(identity(tenant, name), by, Some(reason))
                .await?;
        }
        self.forget(tenant);
        Ok(match erased {
            true => Erased::Forgotten {
                within: crate::KEY_AGE_MAX,
            },
            false => Erased::NoKey,
        })
    }

    /// The records of a tenant's key beside the one that counts.
    async fn names(&self, tenant: &Tenant) -> Result<Vec<String>> {
        let (mut names, mut before) = (Vec::new(), None);
        loop {
            let page = self.0.store.list(Query {
                tenant: Some(tenant.as_str().to_owned()),
                scope: Some(scope().to_string()),
                before,
                ..Query::default()
            });
            let page = page.await?;
            let found = page
                .records
                .iter()
                .map(|record| record.identity.key().as_str().to_owned());
            names.extend(found.filter(|name| name != PRIMARY));
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(names),
            }
        }
    }

    async fn erase_one(
        &self,
        identity: Identity,
        by: &Actor,
        reason: Option<&Reason>,
    ) -> Result<bool> {
        let Some(record) = self.0.store.look_up_one(identity.clone()).await? else {
            return Ok(false);
        };
        let request = ResolveRequest {
            claim: Claim {
                identity,
                fence: record.fence,
            },
            by: by.clone(),
            reason: reason.cloned(),
            resolution: Resolution::Erase,
        };
        match self.0.store.resolve_one(request).await? {
            ResolveAnswer::Resolved => Ok(true),
            ResolveAnswer::Refused => {
                let message =
                    "the tenant's data key is being made or wrapped at this moment, ask again";
                Err(Error::new(Kind::Unavailable, message))
            }
        }
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
        let primary = |record: &&Record| record.identity.key().as_str() == PRIMARY;
        for record in page.records.iter().filter(primary) {
            let tenant = record.identity.tenant();
            looked.tenants += 1;
            if let Found::Locked(_) = self.find(tenant).await? {
                looked.locked.push(tenant.clone());
            }
        }
        Ok(looked)
    }
}
