//! What is said if a key names no record, or several.

use std::collections::HashSet;
use std::sync::Arc;

use semel_admin::records::find::MATCHES_MAX;
use semel_admin::view;
use semel_core::{Record, Timestamp};
use serde::Serialize;

use super::find::{self, Absent, Found};
use super::standing::brief;
use super::target::{self, Target};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::stores::{Opened, StoreArgs};
use crate::text;

impl Target {
    /// The one record that is meant, for verbs that change it.
    pub(crate) async fn find(&self, opened: &Opened, store: &StoreArgs) -> Result<Arc<Record>> {
        match find::search(opened, self).await? {
            Found::One(record) => Ok(record),
            Found::Several(records) => Err(which_of(self, &records, opened.now())),
            Found::Absent(absent) => Err(not_found(self, &absent, store, opened.now())),
        }
    }
}

/// Several records, as JSON.
#[derive(Serialize)]
pub(crate) struct Matches {
    matches: Vec<view::Record>,
    /// If there is none: those that may have been meant, and archived ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<view::Record>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archived: Vec<view::Record>,
}

impl Matches {
    pub(crate) fn of(records: &[Record], now: Timestamp) -> Self {
        Self {
            matches: shown(records, now),
            near: Vec::new(),
            archived: Vec::new(),
        }
    }

    pub(crate) fn none(absent: &Absent, now: Timestamp) -> Self {
        Self {
            matches: Vec::new(),
            near: shown(&absent.near, now),
            archived: shown(&absent.archived, now),
        }
    }
}

fn shown(records: &[Record], now: Timestamp) -> Vec<view::Record> {
    let record = |record| view::Record::of(record, now);
    records.iter().map(record).collect()
}

/// Several records, one below the other.
pub(crate) fn table(records: &[Record], now: Timestamp) -> Table {
    let mut table = Table::new(["STATE", "TENANT", "SCOPE", "KEY", "REQUEST", "CLAIMED"]);
    for record in records {
        let (identity, state) = (&record.identity, record.state.name());
        table.row(
            output::style_of(state),
            [
                state.to_owned(),
                identity.tenant().to_string(),
                identity.scope().to_string(),
                identity.key().to_string(),
                text::request(record),
                text::ago(record.claimed_at, now),
            ],
        );
    }
    table
}

fn ambiguous(target: &Target, records: &[Record], more: &str) -> Error {
    let (count, words) = (records.len(), target.words());
    Error::new(
        Exit::Ambiguous,
        format!("{count} records have {words}{more}"),
    )
}

/// Which of them is to be shown, by the command for each.
pub(crate) fn show_which(target: &Target, records: &[Record], store: &StoreArgs) -> Error {
    let command = |record: &Record| target::command("show", &record.identity, "", store);
    let commands: Vec<_> = records.iter().map(command).collect();
    ambiguous(target, records, "").hint(format!("say which one:\n{}", commands.join("\n")))
}

/// Refuses records of several operations where one is meant, such as those that only the archive has.
pub(crate) fn must_be_of_one(target: &Target, records: &[Record], now: Timestamp) -> Result<()> {
    let mut seen = HashSet::new();
    let firsts = records
        .iter()
        .filter(|record| seen.insert(&record.identity));
    let firsts: Vec<Record> = firsts.take(MATCHES_MAX).cloned().collect();
    match firsts.as_slice() {
        [] | [_] => Ok(()),
        several => Err(which_of(target, several, now)),
    }
}

/// Which of them is to be changed, by the options that say so.
fn which_of(target: &Target, records: &[Record], now: Timestamp) -> Error {
    let option = |record: &Record| {
        let place = target::place(&record.identity);
        format!("{place}   # {}", brief(record, now))
    };
    let options: Vec<_> = records.iter().map(option).collect();
    ambiguous(target, records, "; nothing was changed")
        .hint(format!("say which one is meant:\n{}", options.join("\n")))
}

/// There is no such record, and this is what there is.
pub(crate) fn not_found(
    target: &Target,
    absent: &Absent,
    store: &StoreArgs,
    now: Timestamp,
) -> Error {
    let message = match target.wanted().identity() {
        Some(identity) => format!("there is no record of {identity}"),
        None => format!("there is no record with {}", target.words()),
    };
    let mut hints = Vec::new();
    if !absent.near.is_empty() {
        hints.push("did you mean".to_owned());
        hints.extend(absent.near.iter().map(|record| {
            let command = target::command("show", &record.identity, "", store);
            format!("  {command}   # {}", brief(record, now))
        }));
    }
    if !absent.past.is_empty() && target.wanted().identity().is_none() {
        hints.push("it is absent now and has a history:".to_owned());
        hints.extend(absent.past.iter().map(|(identity, _)| {
            let command = target::command("show", identity, "", store);
            format!("  {command}")
        }));
    }
    if !absent.archived.is_empty() {
        let key = text::word(target.key.as_str());
        let list = format!(
            "semel keys list --state archived --key {key}{}",
            store.option()
        );
        let count = text::plural(absent.archived.len() as u64, "record", "records");
        hints.push(format!("{count} of this key in the archive: {list}"));
    }
    if hints.is_empty() {
        let list = format!("semel keys list{}", store.option());
        hints.push(format!("see what there is: {list}"));
    }
    Error::new(Exit::NotFound, message).hint(hints.join("\n"))
}
