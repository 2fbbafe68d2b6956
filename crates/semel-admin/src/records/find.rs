//! Finds records by their key, whatever their scope and tenant: for the command line and the dashboard.
//!
//! A store finds an identity at once. A key alone it finds by walking over its records, the newest first; that is for
//! people, and its cost grows with the store.

use std::collections::HashSet;
use std::sync::Arc;

use semel_core::store::{PAGE_MAX, Query, StateFilter};
use semel_core::{
    Error, Event, Identity, Key, Kind, Record, Result, Scope, Store, StoreExt, Tenant,
};

/// The most records of one key that are listed.
pub const MATCHES_MAX: usize = 100;
/// The most archived records of one key that an act is about.
pub const ARCHIVED_MAX: usize = 10_000;
/// The most pages that are read for them; those of some stores are short.
const PAGES_MAX: usize = 10_000;
/// How many pages of the newest records are looked through for similar keys and other places.
const RECENT_PAGES_MAX: usize = 5;
/// In how many places a history is looked for, if there is no record.
const HISTORIES_MAX: usize = 32;

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// This key.
    pub key: Key,
    /// Only of this tenant.
    pub tenant: Option<Tenant>,
    /// Only in this scope.
    pub scope: Option<Scope>,
}

/// What the store has under a key.
#[derive(Debug)]
pub enum Matches {
    /// One record, with its outcome.
    One(Arc<Record>),
    /// Several, without bodies, at most [`MATCHES_MAX`].
    Several(Vec<Record>),
    /// None.
    None,
}

impl Wanted {
    /// The identity, if all of it is named.
    pub fn identity(&self) -> Option<Identity> {
        let (tenant, scope) = (self.tenant.clone()?, self.scope.clone()?);
        Some(Identity::new(tenant, scope, self.key.clone()))
    }

    /// Whether scope and tenant, as far as they are named, are those of an identity.
    pub fn is_within(&self, identity: &Identity) -> bool {
        let (tenant, scope) = (&self.tenant, &self.scope);
        scope.as_ref().is_none_or(|scope| scope == identity.scope())
            && tenant
                .as_ref()
                .is_none_or(|tenant| tenant == identity.tenant())
    }

    /// The same key anywhere.
    #[must_use]
    pub fn anywhere(&self) -> Self {
        Self {
            key: self.key.clone(),
            tenant: None,
            scope: None,
        }
    }

    fn query(&self) -> Query {
        Query {
            key: Some(self.key.to_string()),
            tenant: self.tenant.as_ref().map(ToString::to_string),
            scope: self.scope.as_ref().map(ToString::to_string),
            limit: MATCHES_MAX,
            ..Query::default()
        }
    }
}

/// Looks for what is meant.
pub async fn search(store: &dyn Store, wanted: &Wanted) -> Result<Matches> {
    let identity = match wanted.identity() {
        Some(identity) => identity,
        None => {
            let found = current(store, wanted).await?;
            match found.as_slice() {
                [one] => one.identity.clone(),
                [] => return Ok(Matches::None),
                _ => return Ok(Matches::Several(found)),
            }
        }
    };
    let found = store.look_up_one(identity).await?;
    Ok(found.map_or(Matches::None, Matches::One))
}

/// The newest records of a key, at most [`MATCHES_MAX`].
pub async fn current(store: &dyn Store, wanted: &Wanted) -> Result<Vec<Record>> {
    listed(store, wanted.query()).await
}

/// The newest archived records of a key, at most [`MATCHES_MAX`].
pub async fn archived(store: &dyn Store, wanted: &Wanted) -> Result<Vec<Record>> {
    let archived = Query {
        state: Some(StateFilter::Archived),
        ..wanted.query()
    };
    listed(store, archived).await
}

/// Every archived record of a key, for acts that leave none behind; more than [`ARCHIVED_MAX`] are an error.
pub async fn all_archived(store: &dyn Store, wanted: &Wanted) -> Result<Vec<Record>> {
    let archived = Query {
        state: Some(StateFilter::Archived),
        limit: PAGE_MAX,
        ..wanted.query()
    };
    let (found, is_all) = pages(store, archived, ARCHIVED_MAX).await?;
    match is_all {
        true => Ok(found),
        false => Err(Error::new(
            Kind::Limit,
            format!(
                "expected at most {ARCHIVED_MAX} archived records of the key {}, found more",
                wanted.key
            ),
        )),
    }
}

async fn listed(store: &dyn Store, query: Query) -> Result<Vec<Record>> {
    Ok(pages(store, query, MATCHES_MAX).await?.0)
}

/// The newest records, at most so many, and whether these are all.
async fn pages(store: &dyn Store, mut query: Query, max: usize) -> Result<(Vec<Record>, bool)> {
    let mut found = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = store.list(query.clone()).await?;
        found.extend(page.records);
        query.before = page.next;
        let is_all = query.before.is_none() && found.len() <= max;
        if is_all || found.len() >= max {
            found.truncate(max);
            return Ok((found, is_all));
        }
    }
    Ok((found, false))
}

/// The newest records of the store, of a few pages.
pub async fn recent(store: &dyn Store) -> Result<Vec<Record>> {
    let mut query = Query {
        limit: PAGE_MAX,
        ..Query::default()
    };
    let mut found = Vec::new();
    for _ in 0..RECENT_PAGES_MAX {
        let page = store.list(query.clone()).await?;
        found.extend(page.records);
        match page.next {
            Some(next) => query.before = Some(next),
            None => break,
        }
    }
    Ok(found)
}

/// Histories of a key without a record. A store finds them by identity only, so they are looked for where the audit says
/// that the key was, and where there are `recent` records.
pub async fn past(
    store: &dyn Store,
    wanted: &Wanted,
    recent: &[Record],
) -> Result<Vec<(Identity, Vec<Event>)>> {
    let identities = match wanted.identity() {
        Some(identity) => vec![identity],
        None => places(store, wanted, recent).await?,
    };
    let mut past = Vec::new();
    for identity in identities {
        let history = store.history(identity.clone()).await?;
        if !history.is_empty() {
            past.push((identity, history));
        }
    }
    Ok(past)
}

async fn places(store: &dyn Store, wanted: &Wanted, recent: &[Record]) -> Result<Vec<Identity>> {
    let audit = store.audit(PAGE_MAX).await?;
    let decided = audit.iter().filter_map(|line| {
        let tenant = tenant_of(&line.selection, wanted.key.as_str())?;
        Identity::parse(tenant, &line.scope.to_string(), wanted.key.as_str()).ok()
    });
    let now = recent.iter().map(|record| {
        let (tenant, scope) = (record.identity.tenant(), record.identity.scope());
        Identity::new(tenant.clone(), scope.clone(), wanted.key.clone())
    });
    let mut seen = HashSet::new();
    let places = decided
        .chain(now)
        .filter(|identity| wanted.is_within(identity) && seen.insert(identity.to_string()));
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
