//! `semel keys release`: an unknown operation did not happen, or many did not.

use semel_core::store::Resolution;
use semel_core::{Record, State, Timestamp};

use super::decide::{Decider, decide};
use super::many::Many;
use super::standing::clause;
use super::target;
use super::which::Which;
use crate::error::{Error, Result};
use crate::output;
use crate::stores::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    decider: Decider,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let Some(target) = args.which.one() else {
        let many = Many {
            which: &args.which,
            decider: &args.decider,
            resolution: Resolution::Release,
            options: String::new(),
        };
        return many.run(&opened, store).await;
    };
    let record = target.find(&opened, store).await?;
    must_be_unknown(&record, opened.now(), "released", store)?;
    decide(&opened, store, &record, &args.decider, Resolution::Release).await?;
    let identity = &record.identity;
    output::note(&format!(
        "released {identity}: the next request with this key runs"
    ));
    Ok(())
}

/// Refuses what cannot be `done` to a record that is not unknown, and says what can.
pub(crate) fn must_be_unknown(
    record: &Record,
    now: Timestamp,
    done: &str,
    store: &StoreArgs,
) -> Result<()> {
    let identity = &record.identity;
    let refused = || {
        let standing = clause(record, now);
        Error::refused(format!(
            "{identity} {standing}; only an unknown record can be {done}"
        ))
    };
    let command = |verb, options| target::command(verb, identity, options, store);
    match &record.state {
        State::Unknown { .. } => Ok(()),
        State::Running { .. } => Err(refused().hint(
            "wait: if the lease ends without an outcome, the record becomes unknown by itself",
        )),
        State::Settled(settled) if settled.resolved => Err(refused().hint(format!(
            "a decision put its outcome on record; duplicates get it until {}\n\
             it has another outcome:  {}\n\
             to forget it:            {}",
            settled.expires_at,
            command("resolve", "--correct --succeeded --status 200 --body …"),
            command("purge", ""),
        ))),
        State::Settled(settled) => Err(refused().hint(format!(
            "duplicates get its outcome until {}; to forget it before that:\n{}",
            settled.expires_at,
            command("purge", "")
        ))),
    }
}
