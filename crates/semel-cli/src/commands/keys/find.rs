//! Finds a record by its key, whatever its scope and tenant.
//!
//! A store finds an identity at once. A key alone it finds by walking over its records, the newest first; that is for
//! people, and its cost grows with the store.

use std::collections::HashSet;
use std::sync::Arc;

use semel_core::store::{PAGE_MAX, Query, StateFilter};
use semel_core::{Event, Identity, Kind, Record};

use super::near;
use super::target::Target;
use crate::error::{Error, Result};
use crate::stores::Opened;

/// The most records of one key that are listed.
const MATCHES_MAX: usize = 100;
/// The most pages that are read for them; those of some stores are short.
const PAGES_MAX: usize = 10_000;
/// How many pages of the newest records are looked through for similar keys.
const RECENT_PAGES_MAX: usize = 5;
/// In how many places a history is looked for, if there is no record.
const HISTORIES_MAX: usize = 32;

/// What the store knows under a key.
pub(crate) enum Found {
    /// One record, with its outcome.
    One(Arc<Record>),
    /// Several, without bodies.
    Several(Vec<Record>),
    /// None.
    Absent(Absent),
}

/// What there is instead of a record.
#[derive(Default)]
pub(crate) struct Absent {
    /// Operations of this key that are absent now and have a history.
    pub(crate) past: Vec<(Identity, Vec<Event>)>,
    /// Records of this key that were archived.
    pub(crate) archived: Vec<Record>,
    /// Records that may have been meant, the likeliest first.
    pub(crate) near: Vec<Record>,
}

/// Looks for what is meant.
pub(crate) async fn search(opened: &Opened, target: &Target) -> Result<Found> {
    if let Some(identity) = target.identity() {
        return one_or_absent(opened, target, &identity).await;
    }
    let found = listed(opened, query(target)).await?;
    match found.as_slice() {
        [] => Ok(Found::Absent(absent(opened, target).await?)),
        [one] => one_or_absent(opened, target, &one.identity).await,
        _ => Ok(Found::Several(found)),
    }
}

async fn one_or_absent(opened: &Opened, target: &Target, identity: &Identity) -> Result<Found> {
    match opened.look_up(identity).await? {
        Some(record) => Ok(Found::One(record)),
        None => Ok(Found::Absent(absent(opened, target).await?)),
    }
}

fn query(target: &Target) -> Query {
    Query {
        key: Some(target.key.to_string()),
        tenant: target.within.tenant.as_ref().map(ToString::to_string),
        scope: target.within.scope.as_ref().map(ToString::to_string),
        limit: MATCHES_MAX,
        ..Query::default()
    }
}

/// The newest records that a query is about, at most [`MATCHES_MAX`].
async fn listed(opened: &Opened, mut query: Query) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = opened.store.list(query.clone()).await.map_err(too_slow)?;
        found.extend(page.records);
        if page.next.is_none() || found.len() >= MATCHES_MAX {
            break;
        }
        query.before = page.next;
    }
    found.truncate(MATCHES_MAX);
    Ok(found)
}

/// A walk over many records may take a server longer than it is given.
fn too_slow(error: semel_core::Error) -> Error {
    let kind = error.kind();
    let said = Error::from(error);
    match kind {
        Kind::Unavailable => said
            .hint("a key alone is found by a walk over the records; name --scope and --tenant too"),
        _ => said,
    }
}

async fn absent(opened: &Opened, target: &Target) -> Result<Absent> {
    let archived = Query {
        state: Some(StateFilter::Archived),
        ..query(target)
    };
    let archived = listed(opened, archived).await?;
    let recent = recent(opened).await?;
    let past = past(opened, target, &recent).await?;
    let mut near = elsewhere(opened, target).await?;
    // A key that once was is no mistyped one.
    if past.is_empty() && archived.is_empty() {
        near.extend(near::misses(&target.key, &recent));
    }
    near.truncate(near::MISSES_MAX);
    Ok(Absent {
        past,
        archived,
        near,
    })
}

/// Records of the same key where it was not looked for.
async fn elsewhere(opened: &Opened, target: &Target) -> Result<Vec<Record>> {
    if target.within.scope.is_none() && target.within.tenant.is_none() {
        return Ok(Vec::new());
    }
    let query = Query {
        tenant: None,
        scope: None,
        ..query(target)
    };
    listed(opened, query).await
}

async fn recent(opened: &Opened) -> Result<Vec<Record>> {
    let mut query = Query {
        limit: PAGE_MAX,
        ..Query::default()
    };
    let mut found = Vec::new();
    for _ in 0..RECENT_PAGES_MAX {
        let page = opened.store.list(query.clone()).await?;
        found.extend(page.records);
        match page.next {
            Some(next) => query.before = Some(next),
            None => break,
        }
    }
    Ok(found)
}

/// Histories of the key without a record. A store finds them by identity only, so they are looked for where
/// the audit says that it was, and where there are records now.
async fn past(
    opened: &Opened,
    target: &Target,
    recent: &[Record],
) -> Result<Vec<(Identity, Vec<Event>)>> {
    let identities = match target.identity() {
        Some(identity) => vec![identity],
        None => places(opened, target, recent).await?,
    };
    let mut past = Vec::new();
    for identity in identities {
        let history = opened.store.history(identity.clone()).await?;
        if !history.is_empty() {
            past.push((identity, history));
        }
    }
    Ok(past)
}

async fn places(opened: &Opened, target: &Target, recent: &[Record]) -> Result<Vec<Identity>> {
    let audit = opened.store.audit(PAGE_MAX).await?;
    let decided = audit.iter().filter_map(|line| {
        let tenant = tenant_of(&line.selection, target.key.as_str())?;
        Identity::parse(tenant, &line.scope.to_string(), target.key.as_str()).ok()
    });
    let now = recent.iter().map(|record| {
        let (tenant, scope) = (record.identity.tenant(), record.identity.scope());
        Identity::new(tenant.clone(), scope.clone(), target.key.clone())
    });
    let mut seen = HashSet::new();
    let places = decided
        .chain(now)
        .filter(|identity| target.is_within(identity) && seen.insert(identity.to_string()));
    Ok(places.take(HISTORIES_MAX).collect())
}

/// The tenant in a line of the audit that is about this key.
fn tenant_of<'a>(selection: &'a str, key: &str) -> Option<&'a str> {
    let rest = selection.strip_prefix("key ")?.strip_prefix(key)?;
    let (tenant, _) = rest.strip_prefix("; tenant ")?.rsplit_once("; fence ")?;
    Some(tenant)
}

#[cfg(test)]
mod tests {
    use super::tenant_of;

    #[test]
    fn a_line_of_the_audit_says_whose_key_it_was() {
        let line = "key order-1; tenant acme; fence 7; as succeeded, status 200";
        assert_eq!(tenant_of(line, "order-1"), Some("acme"));
        assert_eq!(tenant_of(line, "order"), None);
        assert_eq!(tenant_of("ids a, b", "a"), None);
    }
}
