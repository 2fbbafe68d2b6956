//! Decisions about a record, by name and with the claim that was seen.

use semel_core::record::Claim;
use semel_core::store::{Actor, Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{Record, StoreExt};

use super::target;
use crate::error::{Error, Result};
use crate::stores::{Opened, StoreArgs};

/// Who decides, for the audit.
#[derive(Debug, clap::Args)]
pub(crate) struct By {
    /// Who decides, for the audit [default: $USER]
    #[arg(long, value_name = "NAME", value_parser = actor)]
    by: Option<Actor>,
}

impl By {
    fn actor(&self) -> Result<Actor> {
        let by = self.by.clone().map(Ok);
        Ok(by.unwrap_or_else(|| {
            let user = std::env::var("USER").unwrap_or_default();
            actor(&user).or_else(|_| actor("operator"))
        })?)
    }
}

fn actor(name: &str) -> semel_core::Result<Actor> {
    if name.contains(char::is_control) {
        let message = format!("the name of who decides has a control character: {name:?}");
        return Err(semel_core::Error::invalid(message));
    }
    Actor::new(name)
}

/// Sends a decision about the record that was seen.
pub(crate) async fn decide(
    opened: &Opened,
    store: &StoreArgs,
    seen: &Record,
    by: &By,
    resolution: Resolution,
) -> Result<()> {
    let request = ResolveRequest {
        claim: Claim {
            identity: seen.identity.clone(),
            fence: seen.fence,
        },
        by: by.actor()?,
        resolution,
    };
    match opened.store.resolve_one(request).await? {
        ResolveAnswer::Resolved => Ok(()),
        ResolveAnswer::Refused => Err(Error::refused(format!(
            "{} changed in the meantime; nothing was done",
            seen.identity
        ))
        .hint(format!(
            "look again: {}",
            target::command("show", &seen.identity, "", store)
        ))),
    }
}
