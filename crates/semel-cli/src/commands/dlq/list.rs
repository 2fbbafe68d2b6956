//! `semel dlq list`: one page of dead letters.

use semel_core::Scope;

use super::DEAD;
use crate::commands::inbox::{Listing, Page};
use crate::commands::messages::OpenInbox;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this consumer's: NAME or NAME@VERSION; no version means 1
    consumer: Option<Scope>,

    #[command(flatten)]
    page: Page,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let listing = Listing {
        verb: "dlq list",
        consumer: args.consumer.as_ref(),
        states: &DEAD,
        said_states: &[],
        nothing: "there are no dead letters",
    };
    args.page.print(open, &listing).await
}
