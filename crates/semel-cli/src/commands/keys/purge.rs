//! `semel keys purge`: forgets a settled record early, or sweeps what has expired.

use clap::ArgGroup;
use semel_core::store::{Resolution, Swept};
use semel_core::{Key, Record, State};
use serde::Serialize;

use super::decide::{Decider, caches_forget_in, decide};
use super::standing::clause;
use super::target::{self, Target, Within};
use crate::error::{Error, Result};
use crate::stores::{Opened, StoreArgs};
use crate::{output, text};

/// How many records one step of the sweep takes, and how many steps one command makes.
const SWEEP_STEP: usize = 1_000;
const SWEEP_STEPS_MAX: usize = 1_000_000;

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("what").args(["key", "expired"]).required(true))]
pub(crate) struct Args {
    /// The key, as the caller sent it
    key: Option<Key>,

    #[command(flatten)]
    within: Within,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    decider: Decider,

    /// Sweep the store: end leases, and delete or archive what retention no longer protects
    #[arg(long, conflicts_with_all = ["scope", "tenant"])]
    expired: bool,

    /// Write the counts of the sweep as JSON
    #[arg(long, conflicts_with = "key")]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let Some(key) = args.key.clone() else {
        return sweep(args, &opened).await;
    };
    let within = args.within.clone();
    erase(args, &Target { key, within }, &opened, store).await
}

async fn erase(args: &Args, target: &Target, opened: &Opened, store: &StoreArgs) -> Result<()> {
    let record = target.find(opened, store).await?;
    must_be_settled(&record, opened, store)?;
    if !args.yes {
        confirm(&record, opened)?;
    }
    decide(opened, store, &record, &args.decider, Resolution::Erase).await?;
    let identity = &record.identity;
    output::note(&format!(
        "purged {identity}: a request that comes again runs again"
    ));
    output::note(&caches_forget_in());
    Ok(())
}

fn must_be_settled(record: &Record, opened: &Opened, store: &StoreArgs) -> Result<()> {
    let identity = &record.identity;
    let refused = || {
        let standing = clause(record, opened.now());
        Error::refused(format!(
            "{identity} {standing}; only a settled record can be purged"
        ))
    };
    match &record.state {
        State::Settled(_) => Ok(()),
        State::Running { .. } => Err(refused().hint("wait until it is settled")),
        State::Unknown { .. } => Err(refused().hint(format!(
            "decide first:\n\
             it did not happen:  {}\n\
             it did happen:      {}",
            target::command("release", identity, "", store),
            target::command("resolve", identity, "--succeeded", store)
        ))),
    }
}

fn confirm(record: &Record, opened: &Opened) -> Result<()> {
    let (identity, standing) = (&record.identity, clause(record, opened.now()));
    let question = format!(
        "{identity} {standing}.\nOnce it is erased, a request that comes again runs again. Erase it?"
    );
    match output::ask(&question) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::refused("not confirmed; nothing was changed")),
        None => Err(Error::refused(
            "erasing a record needs a yes, and there is no terminal to ask on; nothing was changed",
        )
        .hint("add --yes if you are sure")),
    }
}

async fn sweep(args: &Args, opened: &Opened) -> Result<()> {
    let mut total = Counts::default();
    for _ in 0..SWEEP_STEPS_MAX {
        let swept = opened.store.sweep(SWEEP_STEP).await?;
        total.add(swept);
        if !swept.more {
            return total.print(args.json);
        }
    }
    total.print(args.json)?;
    output::hint("there is more to sweep; run the command again");
    Ok(())
}

/// What the sweep did.
#[derive(Debug, Default, Serialize)]
struct Counts {
    deleted: usize,
    archived: usize,
    leases_ended: usize,
    events_deleted: usize,
}

impl Counts {
    fn add(&mut self, swept: Swept) {
        self.deleted += swept.deleted;
        self.archived += swept.archived;
        self.leases_ended += swept.leases_ended;
        self.events_deleted += swept.events_deleted;
    }

    fn print(&self, json: bool) -> Result<()> {
        if json {
            return output::json(self);
        }
        let count = |number: usize| text::count(number as u64);
        let lines = [
            (self.deleted, "expired records deleted"),
            (self.archived, "expired records archived"),
            (
                self.leases_ended,
                "leases ended, their records are now unknown",
            ),
            (self.events_deleted, "old events deleted"),
        ];
        let width = lines
            .iter()
            .map(|(number, _)| count(*number).len())
            .max()
            .unwrap_or(0);
        let line = |(number, what): &(usize, &str)| format!("{:>width$}  {what}", count(*number));
        output::data(&lines.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
