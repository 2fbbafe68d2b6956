//! `semel dlq replay`: runs dead letters again.

use semel_core::inbox::Action;

use super::DEAD;
use crate::commands::messages::{Change, ChangeArgs, OpenInbox, Select};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    change: ChangeArgs,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    args.select.must_say(false)?;
    let change = Change {
        select: &args.select,
        states: DEAD.to_vec(),
        action: Action::Retry { new_key: false },
        verb: "dlq replay",
    };
    args.change.apply(open, change).await
}
