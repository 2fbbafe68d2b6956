//! Which record is meant, on the command line.

use clap::Args;
use semel_admin::records::find::Wanted;
use semel_core::{Identity, Key, Scope, Tenant};

use crate::stores::StoreArgs;
use crate::text;

/// A key, and where to look for it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The key, as the caller sent it
    pub(crate) key: Key,

    #[command(flatten)]
    pub(crate) within: Within,
}

/// Where to look: everywhere, unless this says less.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Within {
    /// Only in this scope, the operation or consumer: NAME or NAME@VERSION; no version means 1
    #[arg(long)]
    pub(crate) scope: Option<Scope>,

    /// Only of this tenant
    #[arg(long)]
    pub(crate) tenant: Option<Tenant>,
}

impl Target {
    /// The target that is this identity.
    pub(crate) fn of(identity: &Identity) -> Self {
        Self {
            key: identity.key().clone(),
            within: Within {
                scope: Some(identity.scope().clone()),
                tenant: Some(identity.tenant().clone()),
            },
        }
    }

    /// What is looked for.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted {
            key: self.key.clone(),
            tenant: self.within.tenant.clone(),
            scope: self.within.scope.clone(),
        }
    }

    /// What was looked for, in words.
    pub(crate) fn words(&self) -> String {
        let mut words = format!("the key {}", self.key);
        if let Some(scope) = &self.within.scope {
            words += &format!(" in the scope {scope}");
        }
        if let Some(tenant) = &self.within.tenant {
            words += &format!(" of the tenant {tenant}");
        }
        words
    }
}

/// The options that name scope and tenant of a record.
pub(crate) fn place(identity: &Identity) -> String {
    let scope = text::word(&identity.scope().to_string());
    format!(
        "--scope {scope} --tenant {}",
        text::word(identity.tenant().as_str())
    )
}

/// The command that does `verb` to a record, with more `options` if there are any.
pub(crate) fn command(verb: &str, identity: &Identity, options: &str, store: &StoreArgs) -> String {
    let key = text::word(identity.key().as_str());
    let mut line = format!(" {}", place(identity));
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
