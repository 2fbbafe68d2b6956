//! A message as far as its identity goes.

use semel_core::{Fingerprint, Identity, Key, Result, Scope, Tenant};

/// Which message, and what is in it.
#[derive(Debug, Clone)]
pub struct Message {
    id: Key,
    tenant: Tenant,
    fingerprint: Fingerprint,
}

impl Message {
    /// The message with this id, which its producer gave it. An id that is made anew for each
    /// delivery identifies nothing.
    pub fn new(id: &str) -> Result<Self> {
        Ok(Self {
            id: Key::new(id)?,
            tenant: Tenant::public(),
            fingerprint: Fingerprint::none(),
        })
    }

    /// What is in it: the same id with another payload is a conflict, not a duplicate.
    #[must_use]
    pub fn payload(mut self, bytes: &[u8]) -> Self {
        self.fingerprint = Fingerprint::of_bytes(bytes);
        self
    }

    /// On whose behalf it was sent, if ids are unique per tenant only.
    #[must_use]
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = tenant;
        self
    }

    /// What is in it, as far as it is compared.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The operation that the consumer with this scope makes of it.
    pub fn identity(&self, scope: &Scope) -> Identity {
        Identity::new(self.tenant.clone(), scope.clone(), self.id.clone())
    }
}
