//! Which unknown records are decided about: one by its key, or all that filters leave.

use clap::ArgGroup;
use semel_admin::When;
use semel_admin::records::{Method, Selection};
use semel_core::store::StateFilter;
use semel_core::{Key, Timestamp};

use super::target::{Target, Within};
use crate::text;

/// One record, or many. Filters conflict with a key by name: clap takes what a present argument excludes for not required.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").args(["key", "all"]).required(true))]
pub(crate) struct Which {
    /// The key, as the caller sent it
    pub(super) key: Option<Key>,

    #[command(flatten)]
    pub(super) within: Within,

    /// All unknown records that the filters leave; without --yes this only says which
    #[arg(long)]
    all: bool,

    /// With --all: only in this state, which is implied
    #[arg(long, requires = "all", conflicts_with = "key", value_parser = ["unknown"])]
    state: Option<String>,

    /// With --all: only this key's
    #[arg(
        long = "key",
        value_name = "KEY",
        requires = "all",
        conflicts_with = "key"
    )]
    pub(super) only_key: Option<Key>,

    /// With --all: only what was asked with this HTTP method
    #[arg(long, requires = "all", conflicts_with = "key")]
    pub(super) method: Option<Method>,

    /// With --all: only what has been unknown for so long, such as 2h, or since a moment (RFC 3339)
    #[arg(
        long,
        value_name = "DURATION",
        requires = "all",
        conflicts_with = "key"
    )]
    pub(super) older_than: Option<When>,

    /// With --all: only say what would be done, which is so without --yes, too
    #[arg(long, requires = "all", conflicts_with_all = ["yes", "key"])]
    dry_run: bool,

    /// Do it without asking
    #[arg(long)]
    pub(crate) yes: bool,

    /// With --all: write the counts as JSON
    #[arg(long, requires = "all", conflicts_with = "key")]
    pub(crate) json: bool,
}

impl Which {
    /// The one record, if one is meant.
    pub(crate) fn one(&self) -> Option<Target> {
        let (key, within) = (self.key.clone()?, self.within.clone());
        Some(Target { key, within })
    }

    /// Whether only to say what would be done.
    pub(crate) const fn is_dry(&self) -> bool {
        self.dry_run || !self.yes
    }

    /// The many, as they stand at `now`.
    pub(crate) fn selection(&self, now: Timestamp) -> Selection {
        let until = self.older_than.map_or(now, |when| when.at(now));
        Selection {
            state: StateFilter::Unknown,
            tenant: self.within.tenant.clone(),
            scope: self.within.scope.clone(),
            key: self.only_key.clone(),
            method: self.method.clone(),
            until: until.min(now),
        }
    }
}

/// The options that select the same once more, however much later.
pub(crate) fn options(selection: &Selection) -> String {
    [
        " --all".to_owned(),
        option("scope", selection.scope.as_ref()),
        option("tenant", selection.tenant.as_ref()),
        option("method", selection.method.as_ref()),
        option("key", selection.key.as_ref()),
        option("older-than", Some(&selection.until)),
    ]
    .concat()
}

/// The options that name the same places.
pub(super) fn places(within: &Within) -> String {
    let scope = option("scope", within.scope.as_ref());
    scope + &option("tenant", within.tenant.as_ref())
}

fn option(name: &str, value: Option<&impl ToString>) -> String {
    value.map_or(String::new(), |value| {
        format!(" --{name} {}", text::word(&value.to_string()))
    })
}
