//! Which messages are meant, on the command line.

use semel_admin::When;
use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Cause, Selection, State};
use semel_core::{Key, Scope, Tenant, Timestamp};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// Messages of one consumer: by their ids, or by what they have in common.
#[derive(Debug, clap::Args)]
pub(crate) struct Select {
    /// Whose messages: NAME or NAME@VERSION; no version means 1
    pub(crate) consumer: Scope,

    /// The ids of the messages
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<Key>,

    /// All messages that the other options leave
    #[arg(long, conflicts_with = "ids")]
    all: bool,

    /// Only with this cause, such as attempts-exhausted
    #[arg(long)]
    cause: Option<Cause>,

    /// Only with this key: of this lane
    #[arg(long, value_name = "LANE", alias = "lane")]
    key: Option<Key>,

    /// Only this tenant's
    #[arg(long)]
    tenant: Option<Tenant>,

    /// Only the messages of this group of failures, as `semel inbox failures` names it; for retry, park and skip
    #[arg(long, value_name = "GROUP", conflicts_with = "ids")]
    group: Option<String>,

    /// Only received at or after: 2026-11-16T08:30:00Z, or 2h for two hours ago
    #[arg(long, value_name = "TIME")]
    from: Option<When>,

    /// Only received before: 2026-11-16T08:30:00Z, or 2h for two hours ago
    #[arg(long, value_name = "TIME")]
    until: Option<When>,

    /// Only what has stood as it does since then or longer, as the `unchanged_since` of a dry run says it [default: the start of the command, unless ids are named]
    #[arg(long, value_name = "TIME")]
    unchanged_since: Option<When>,
}

impl Select {
    /// Refuses a command that would be about everything because nothing was said; `more` tells whether other options say something.
    pub(crate) fn must_say(&self, more: bool) -> Result<()> {
        let found = self.ids.len();
        if found > SELECT_IDS_MAX {
            let message = format!("at most {SELECT_IDS_MAX} ids at once, found {found}");
            return Err(Error::new(Exit::Usage, message));
        }
        if found > 0 || self.all || self.has_filter() || more {
            return Ok(());
        }
        let message =
            "expected ids, an option such as --key or --cause, or --all; found none of them";
        Err(Error::new(Exit::Usage, message))
    }

    /// The selection, in these states; in all that the action is for, if there are none.
    pub(crate) fn selection(&self, states: Vec<State>, now: Timestamp) -> Selection {
        Selection {
            ids: self.ids.clone(),
            tenant: self.tenant.as_ref().map(ToString::to_string),
            states,
            cause: self.cause,
            lane: self.key.clone(),
            from: self.from.map(|when| when.at(now)),
            until: self.until.map(|when| when.at(now)),
            unchanged_since: self.unchanged_since(now),
            group: None,
        }
    }

    /// What is asked about and what is then changed is the same, however many rounds it takes.
    fn unchanged_since(&self, now: Timestamp) -> Option<Timestamp> {
        match self.unchanged_since {
            Some(when) => Some(when.at(now).min(now)),
            None => self.may_be_many().then_some(now),
        }
    }

    /// Whether anything but ids says which messages are meant: then there may be many.
    pub(crate) const fn may_be_many(&self) -> bool {
        self.ids.is_empty()
    }

    const fn has_filter(&self) -> bool {
        self.cause.is_some()
            || self.key.is_some()
            || self.tenant.is_some()
            || self.group.is_some()
            || self.from.is_some()
            || self.until.is_some()
    }

    /// The group of failures that is meant.
    pub(crate) fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// On whose behalf, where one has to be named.
    pub(crate) fn tenant(&self) -> Tenant {
        self.tenant.clone().unwrap_or_else(Tenant::public)
    }
}
