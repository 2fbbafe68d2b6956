//! `semel dlq replay`: runs dead letters again.

use semel_core::inbox::Action;

use super::DEAD;
use crate::commands::messages::{Change, Desk, Hand, Select};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    hand: Hand,
}

pub(crate) async fn run(args: &Args, desk: &Desk) -> Result<()> {
    args.select.must_say(false)?;
    let change = Change {
        select: &args.select,
        states: DEAD.to_vec(),
        action: Action::Retry { new_key: false },
        verb: "dlq replay",
    };
    args.hand.change(desk, change).await
}
