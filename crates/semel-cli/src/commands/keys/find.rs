//! Finds a record by its key, whatever its scope and tenant, and what may have been meant if there is none.

use std::sync::Arc;

use semel_admin::records::find::{self, Matches};
use semel_core::{Event, Identity, Kind, Record};

use super::near;
use super::target::Target;
use crate::error::{Error, Result};
use crate::stores::Opened;

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
    let found = find::search(opened.store.as_ref(), &target.wanted()).await;
    Ok(match found.map_err(too_slow)? {
        Matches::One(record) => Found::One(record),
        Matches::Several(records) => Found::Several(records),
        Matches::None => Found::Absent(absent(opened, target).await?),
    })
}

/// Every archived record of a key.
pub(crate) async fn all_archived(opened: &Opened, target: &Target) -> Result<Vec<Record>> {
    let found = find::all_archived(opened.store.as_ref(), &target.wanted()).await;
    found.map_err(too_slow)
}

/// The newest archived records of a key.
async fn archived(opened: &Opened, target: &Target) -> Result<Vec<Record>> {
    let found = find::archived(opened.store.as_ref(), &target.wanted()).await;
    found.map_err(too_slow)
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
    let (store, wanted) = (opened.store.as_ref(), target.wanted());
    let archived = archived(opened, target).await?;
    let recent = find::recent(store).await?;
    let past = find::past(store, &wanted, &recent).await?;
    let is_narrow = wanted.scope.is_some() || wanted.tenant.is_some();
    let mut near = match is_narrow {
        // Records of the same key where it was not looked for.
        true => find::current(store, &wanted.anywhere())
            .await
            .map_err(too_slow)?,
        false => Vec::new(),
    };
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
