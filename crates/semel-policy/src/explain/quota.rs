//! Limits of tenants in words.

use semel_http::quota::{Limit, Quota, Rate};

use crate::load::File;
use crate::value;

/// What each tenant may bring, line by line; nothing if there is no limit.
pub(super) fn describe(file: &File) -> Vec<String> {
    let Ok(terms) = file.tenant_limits() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if !terms.each.is_empty() {
        lines.push(format!(
            "each tenant may bring {}; more gets 429",
            shown(&terms.each)
        ));
    }
    let named = file.limits.tenants.iter().filter_map(|(name, _)| {
        let tenant = semel_core::Tenant::new(name).ok()?;
        Some(format!(
            "tenant {name} may bring {}",
            shown(terms.of(&tenant))
        ))
    });
    lines.extend(named);
    if !lines.is_empty() {
        let each = "  counted by each process for itself; a replay counts as a request, and neither as a new key nor as stored bytes";
        lines.push(each.to_owned());
    }
    lines
}

/// Limits as the file writes them.
pub(super) fn shown(quota: &Quota) -> String {
    let set = Limit::ALL
        .into_iter()
        .filter_map(|limit| Some((limit, quota.of(limit)?)));
    let said: Vec<_> = set.map(|(limit, rate)| one(limit, rate)).collect();
    match said.is_empty() {
        true => "what it wants".to_owned(),
        false => said.join(", "),
    }
}

fn one(limit: Limit, rate: Rate) -> String {
    let written = value::Rate {
        amount: rate.amount,
        per: rate.per,
    };
    match limit {
        Limit::Requests if rate.burst != rate.amount => {
            format!("{written} requests ({} at once)", rate.burst)
        }
        Limit::Requests => format!("{written} requests"),
        Limit::NewKeys => format!("{written} new keys"),
        Limit::StoredBytes => format!("{} stored", value::ByteRate(written)),
    }
}
