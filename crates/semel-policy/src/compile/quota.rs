//! Limits of tenants as the doors take them.

use semel_core::Tenant;
use semel_http::quota::{self, Terms};

use crate::error::{Error, Kind, Result};
use crate::file::{ProcessLimits, Quota};
use crate::limits::TENANTS_MAX;
use crate::load::File;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::Rate;

impl File {
    /// What each tenant may bring.
    pub fn tenant_limits(&self) -> Result<Terms> {
        terms(&self.limits)
            .map_err(|fault| Error::whole(Kind::Invalid, "", fault.to_string()).of(fault.path()))
    }
}

/// The limits of all tenants.
pub(crate) fn terms(limits: &ProcessLimits) -> std::result::Result<Terms, Fault> {
    let at = Path::default().to("limits");
    let each = quota(&limits.tenant).map_err(|fault| fault.under(&at.to("tenant")))?;
    let at = at.to("tenants");
    if limits.tenants.len() > TENANTS_MAX {
        let found = limits.tenants.len();
        let message = format!("expected at most {TENANTS_MAX} tenants, found {found}");
        return Err(Fault::said(at, message));
    }
    let named = limits.tenants.iter().map(|(name, own)| {
        let tenant = Tenant::new(name);
        let tenant = tenant.map_err(|error| Fault::said(at.to(name), error.to_string()))?;
        let own = quota(own).map_err(|fault| fault.under(&at.to(name)))?;
        Ok((tenant, own.or(&each)))
    });
    let named = named.collect::<std::result::Result<_, Fault>>()?;
    Ok(Terms { each, named })
}

/// The limits of one tenant. Faults are relative to where they stand.
pub(super) fn quota(written: &Quota) -> std::result::Result<quota::Quota, Fault> {
    let rate = |Rate { amount, per }: Rate| quota::Rate::new(amount, per);
    let requests = written.requests.map(|requests| rate(requests.0));
    let requests = match (requests, written.burst) {
        (Some(requests), Some(burst)) => Some(requests.burst(burst.0.0 as u64)),
        (None, Some(_)) => {
            let message =
                "expected requests beside burst, which says how many of them may come at once";
            return Err(Fault::said(Path::default().to("burst"), message));
        }
        (requests, None) => requests,
    };
    Ok(quota::Quota {
        requests,
        new_keys: written.new_keys.map(|keys| rate(keys.0)),
        stored_bytes: written.stored_bytes.map(|bytes| rate(bytes.0.0)),
    })
}
