//! What the file says about targets of intents, as what the engine takes.

use semel_inbox::intents::{KeyPlace, OnUnknown, Target};
use semel_policy::CompiledTarget;
use semel_policy::target::{self, OnUnanswered};

use super::brokers;
use crate::error::Result;

/// The target, with the conventions of its vendor and what the file says instead.
pub(super) fn target(found: &CompiledTarget) -> Result<Target> {
    if let Some(url) = found.url.broker() {
        let outlet = brokers::outlet(&found.name, url)?;
        return Ok(Target::outlet(&found.name, outlet)?
            .timeout(found.timeout)
            .retry(found.retry)
            .retention(found.retention)
            .on_unknown(unknown(&found.unknown)?));
    }
    let mut target = Target::new(&found.name, found.url.http())?
        .vendor(found.vendor)
        .key(key(found.key.as_ref())?)
        .key_prefix(&found.key_prefix)
        .key_lifetime(found.key_lifetime)
        .method(found.method.clone())
        .timeout(found.timeout)
        .retry(found.retry)
        .retention(found.retention)
        .on_unknown(unknown(&found.unknown)?);
    for (name, value) in &found.headers {
        target = target.header(name.as_str(), value.expose())?;
    }
    Ok(target)
}

fn key(found: Option<&target::KeyPlace>) -> Result<KeyPlace> {
    Ok(match found {
        None => KeyPlace::None,
        Some(target::KeyPlace::Header(name)) => KeyPlace::Header(name.clone()),
        Some(target::KeyPlace::Body(path)) => KeyPlace::body(&path.to_string())?,
        Some(target::KeyPlace::Query(name)) => KeyPlace::Query(name.clone()),
    })
}

fn unknown(found: &OnUnanswered) -> Result<OnUnknown> {
    Ok(match found {
        OnUnanswered::Hold => OnUnknown::Hold,
        OnUnanswered::Retry => OnUnknown::Retry,
        OnUnanswered::Reconcile(url) => OnUnknown::Reconcile(url.parse()?),
    })
}
