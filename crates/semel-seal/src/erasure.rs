//! Destroys data keys, in two steps: a key that is to go retires first, so that no process seals under a key that is gone.

use std::sync::Arc;
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{Actor, Query, Reason, Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{Error, Identity, Kind, Record, Result, State, StoreExt, Tenant};
use tokio::time::sleep;

use crate::cipher::KeyId;
use crate::keyring::{Keyring, RETIRES_FOR};
use crate::wrapped::{SLOTS, id_of, identity, retired, retiring, scope, slot_beside};

/// When a key is destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// After [`RETIRES_FOR`], when no process seals under it any more.
    Retired,
    /// At once. What a process that runs seals under it before it notices is lost: for stores that no process serves.
    Now,
}

/// What an erasure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// The data key is destroyed; processes that know it may still read with it for so long.
    Forgotten {
        /// [`KEY_AGE_MAX`](crate::KEY_AGE_MAX).
        within: Duration,
    },
    /// The tenant has no data key.
    NoKey,
}

/// How often the mark of an earlier key is cleared away for that of this one.
const MARKS_MAX: usize = 5;

impl Keyring {
    /// Destroys a tenant's data keys, by a person's decision, which stands in the audit. All that was sealed under them is unreadable from then on, in
    /// copies too; its records go on suppressing duplicates. What is sealed meanwhile and later has another key. An erasure that broke off is finished by
    /// another one.
    pub async fn erase(
        &self,
        tenant: &Tenant,
        by: &Actor,
        reason: &Reason,
        when: When,
    ) -> Result<Erased> {
        let mut retire = Vec::new();
        for slot in SLOTS {
            if let Some(record) = self.settled(identity(tenant, slot)).await? {
                // Without a readable id there is nothing that a process could seal under.
                let id = id_of(&record);
                if let Some(id) = id {
                    self.retire(tenant, slot, id).await?;
                }
                retire.push((slot, id));
            }
        }
        if when == When::Retired && retire.iter().any(|(_, id)| id.is_some()) {
            sleep(RETIRES_FOR).await;
        }
        let is_known = !retire.is_empty();
        for (slot, id) in retire {
            self.destroy(tenant, slot, id, by, reason).await?;
        }
        self.forget(tenant);
        Ok(match is_known {
            true => Erased::Forgotten {
                within: crate::KEY_AGE_MAX,
            },
            false => Erased::NoKey,
        })
    }

    /// Says on record that nothing is to be sealed under the key of a slot any more.
    async fn retire(&self, tenant: &Tenant, slot: &str, id: KeyId) -> Result<()> {
        let name = retiring(slot);
        for _ in 0..MARKS_MAX {
            match self.settled(identity(tenant, &name)).await? {
                Some(mark) if retired(&mark) == Some(id) => return Ok(()),
                // Of a key that is gone: its erasure broke off before its end.
                Some(mark) => self.drop_record(&mark, &component(), None).await?,
                None => {}
            }
            let text = bytes::Bytes::copy_from_slice(&id);
            self.keep(identity(tenant, &name), text).await?;
            self.forget(tenant);
        }
        match self.settled(identity(tenant, &name)).await? {
            Some(mark) if retired(&mark) == Some(id) => Ok(()),
            _ => Err(busy()),
        }
    }

    /// Destroys one key, and nothing that has taken its place meanwhile.
    async fn destroy(
        &self,
        tenant: &Tenant,
        slot: &str,
        id: Option<KeyId>,
        by: &Actor,
        reason: &Reason,
    ) -> Result<()> {
        let is_meant = |record: &Record| id_of(record) == id;
        // The record that counts goes first: without it the others open nothing.
        if let Some(record) = self.settled(identity(tenant, slot)).await?
            && is_meant(&record)
        {
            self.drop_record(&record, by, Some(reason)).await?;
        }
        self.forget(tenant);
        // Listed only now: a rotation that adds one later finds the first gone, and takes it back.
        for name in self.names(tenant).await? {
            if slot_beside(&name) == Some(slot)
                && let Some(record) = self.settled(identity(tenant, &name)).await?
                && is_meant(&record)
            {
                self.drop_record(&record, &component(), None).await?;
            }
        }
        if let Some(mark) = self.settled(identity(tenant, &retiring(slot))).await?
            && retired(&mark) == id
        {
            self.drop_record(&mark, &component(), None).await?;
        }
        Ok(())
    }

    /// The names of all records of a tenant's keys.
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
            let found = page.records.iter();
            names.extend(found.map(|record| record.identity.key().as_str().to_owned()));
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(names),
            }
        }
    }

    /// A record of the keyring, if it is whole.
    pub(crate) async fn settled(&self, identity: Identity) -> Result<Option<Arc<Record>>> {
        let found = self.0.store.look_up_one(identity).await?;
        Ok(found.filter(|record| matches!(record.state, State::Settled(_))))
    }

    /// Erases a record that was looked at, and no newer one.
    pub(crate) async fn drop_record(
        &self,
        record: &Record,
        by: &Actor,
        reason: Option<&Reason>,
    ) -> Result<()> {
        let request = ResolveRequest {
            claim: Claim {
                identity: record.identity.clone(),
                fence: record.fence,
            },
            by: by.clone(),
            reason: reason.cloned(),
            resolution: Resolution::Erase,
        };
        match self.0.store.resolve_one(request).await? {
            ResolveAnswer::Resolved => Ok(()),
            // Another one erased it first.
            ResolveAnswer::Refused => match self.settled(record.identity.clone()).await? {
                Some(now) if now.fence == record.fence => Err(busy()),
                _ => Ok(()),
            },
        }
    }
}

/// Who clears away what a person's decision left.
pub(crate) fn component() -> Actor {
    Actor::component("encryption")
}

pub(crate) fn busy() -> Error {
    let message = "another process changes the same data key at this moment, ask again";
    Error::new(Kind::Unavailable, message)
}
