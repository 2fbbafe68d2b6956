//! Which record is meant, on the command line.

use std::sync::Arc;

use clap::Args;
use semel_core::{Identity, Key, Record, Scope, Tenant};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::stores::{Opened, StoreArgs};
use crate::text;

/// An identity in options.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The key, as the caller sent it
    pub(crate) key: Key,

    /// The operation or consumer: NAME or NAME@VERSION; no version means 1
    #[arg(long)]
    pub(crate) scope: Scope,

    /// On whose behalf
    #[arg(long, default_value = "public")]
    pub(crate) tenant: Tenant,
}

impl Target {
    pub(crate) fn identity(&self) -> Identity {
        Identity::new(self.tenant.clone(), self.scope.clone(), self.key.clone())
    }

    /// The record, or an error that says where else to look.
    pub(crate) async fn find(&self, opened: &Opened, store: &StoreArgs) -> Result<Arc<Record>> {
        let found = opened.look_up(&self.identity()).await?;
        found.ok_or_else(|| not_found(&self.identity(), store))
    }
}

/// There is no such record.
pub(crate) fn not_found(identity: &Identity, store: &StoreArgs) -> Error {
    let (tenant, scope) = (identity.tenant(), identity.scope());
    Error::new(Exit::NotFound, format!("there is no record of {identity}")).hint(format!(
        "see what there is: semel keys list --tenant {} --scope {}{}\n\
         what has expired may be archived: add --state archived",
        text::word(tenant.as_str()),
        text::word(&scope.to_string()),
        store.option()
    ))
}

/// The command that does `verb` to a record, with more `options` if there are any.
pub(crate) fn command(verb: &str, identity: &Identity, options: &str, store: &StoreArgs) -> String {
    let key = text::word(identity.key().as_str());
    let mut line = format!(" --scope {}", text::word(&identity.scope().to_string()));
    if *identity.tenant() != Tenant::public() {
        line += &format!(" --tenant {}", text::word(identity.tenant().as_str()));
    }
    if !options.is_empty() {
        line += &format!(" {options}");
    }
    line += &store.option();
    match key.starts_with('-') {
        // A key that looks like an option has to be told from one.
        true => format!("semel keys {verb}{line} -- {key}"),
        false => format!("semel keys {verb} {key}{line}"),
    }
}
