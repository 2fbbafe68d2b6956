//! `semel keys release`: an unknown operation did not happen.

use semel_core::store::Resolution;
use semel_core::{Record, State, Timestamp};

use super::decide::decide;
use super::standing::clause;
use super::target::{self, Target};
use crate::commands::by::By;
use crate::error::{Error, Result};
use crate::output;
use crate::stores::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    by: By,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let record = args.target.find(&opened, store).await?;
    must_be_unknown(&record, opened.now(), "released", store)?;
    decide(&opened, store, &record, &args.by, Resolution::Release).await?;
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
    match &record.state {
        State::Unknown { .. } => Ok(()),
        State::Running { .. } => Err(refused().hint(
            "wait: if the lease ends without an outcome, the record becomes unknown by itself",
        )),
        State::Settled(settled) => Err(refused().hint(format!(
            "duplicates get its outcome until {}; to forget it before that:\n{}",
            settled.expires_at,
            target::command("purge", identity, "", store)
        ))),
    }
}
