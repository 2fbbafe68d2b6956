//! `semel inbox retry`, `park`, `unpark` and `skip`: changes by hand.

use semel_core::inbox::{Action, State};

use crate::commands::messages::{Change, ChangeArgs, OpenInbox, Select};
use crate::error::{Error, Result};
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    select: Select,

    /// Only in this state; may be given many times [default: all that the verb is for]
    #[arg(long, value_name = "STATE")]
    state: Vec<State>,

    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    /// Give the provider a new key, with which it may do once more what it did before; needs --reason
    #[arg(long, requires = "reason")]
    new_key: bool,

    #[command(flatten)]
    args: Args,
}

pub(crate) async fn retry(args: &RetryArgs, open: &OpenInbox) -> Result<()> {
    let new_key = args.new_key;
    let action = Action::Retry { new_key };
    args.args.change(open, action, "inbox retry").await
}

pub(crate) async fn park(args: &Args, open: &OpenInbox) -> Result<()> {
    args.change(open, Action::Park, "inbox park").await
}

pub(crate) async fn unpark(args: &Args, open: &OpenInbox) -> Result<()> {
    args.change(open, Action::Unpark, "inbox unpark").await
}

pub(crate) async fn skip(args: &Args, open: &OpenInbox) -> Result<()> {
    args.change(open, Action::Skip, "inbox skip").await
}

pub(crate) async fn erase(args: &Args, open: &OpenInbox) -> Result<()> {
    if args.change.reason.is_none() {
        let message = "to erase contents needs a reason for the audit: --reason WHY";
        return Err(Error::new(Exit::Usage, message));
    }
    args.change(open, Action::EraseContents, "inbox erase")
        .await
}

impl Args {
    async fn change(&self, open: &OpenInbox, action: Action, verb: &'static str) -> Result<()> {
        self.select.must_say(!self.state.is_empty())?;
        let change = Change {
            select: &self.select,
            states: self.state.clone(),
            action,
            verb,
        };
        self.change.apply(open, change).await
    }
}
