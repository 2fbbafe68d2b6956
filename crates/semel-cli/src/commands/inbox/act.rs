//! `semel inbox retry`, `park`, `unpark` and `skip`: changes by hand.

use semel_core::inbox::{Action, State};

use crate::commands::messages::{Change, Desk, Hand, Select};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    select: Select,

    /// Only in this state; may be given many times [default: all that the verb is for]
    #[arg(long, value_name = "STATE")]
    state: Vec<State>,

    #[command(flatten)]
    hand: Hand,
}

pub(crate) async fn retry(args: &Args, desk: &Desk) -> Result<()> {
    args.change(desk, Action::Retry { new_key: false }, "inbox retry")
        .await
}

pub(crate) async fn park(args: &Args, desk: &Desk) -> Result<()> {
    args.change(desk, Action::Park, "inbox park").await
}

pub(crate) async fn unpark(args: &Args, desk: &Desk) -> Result<()> {
    args.change(desk, Action::Unpark, "inbox unpark").await
}

pub(crate) async fn skip(args: &Args, desk: &Desk) -> Result<()> {
    args.change(desk, Action::Skip, "inbox skip").await
}

impl Args {
    async fn change(&self, desk: &Desk, action: Action, verb: &'static str) -> Result<()> {
        self.select.must_say(!self.state.is_empty())?;
        let change = Change {
            select: &self.select,
            states: self.state.clone(),
            action,
            verb,
        };
        self.hand.change(desk, change).await
    }
}
