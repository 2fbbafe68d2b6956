//! Refuses tenants that bring more than their limits allow, before anything is claimed.

use std::time::Duration;

use semel_core::once::Operation;
use semel_core::{Identity, Tenant};

use super::Inner;
use super::answer::store_away;
use crate::problem::Problem;
use crate::quota::{Place, Ticket};

impl Inner {
    const fn place(&self) -> Place<'_> {
        Place {
            scope: &self.rules.scope,
            quota: &self.rules.quota,
        }
    }

    /// Counts a request.
    pub(super) fn within_rate(&self, tenant: &Tenant) -> Result<(), Problem> {
        let quotas = &self.budgets.quotas;
        let counted = quotas.request(self.place(), tenant);
        counted.map_err(|exceeded| quotas.refuse(exceeded, self.place(), tenant))
    }

    /// The right to use the key of an operation if it turns out to be new. A tenant that has none left is refused, unless the operation is on
    /// record: replays store nothing. That look costs a read of the store, which the limit on requests bounds.
    pub(super) async fn ticket(&self, operation: &Operation) -> Result<Ticket, Problem> {
        let quotas = &self.budgets.quotas;
        let tenant = operation.identity().tenant();
        let exceeded = match quotas.new_key(self.place(), tenant) {
            Ok(ticket) => return Ok(ticket),
            Err(exceeded) => exceeded,
        };
        match self.is_on_record(operation).await? {
            // If it is taken over after all, what it stores is charged.
            true => Ok(quotas.on_record(self.place(), tenant)),
            false => Err(quotas.refuse(exceeded, self.place(), tenant)),
        }
    }

    async fn is_on_record(&self, operation: &Operation) -> Result<bool, Problem> {
        if operation.cached().is_some() {
            return Ok(true);
        }
        let identity: &Identity = operation.identity();
        let found = self.once.look(identity, Duration::ZERO).await;
        found.map(|found| found.is_some()).map_err(|_| store_away())
    }
}
