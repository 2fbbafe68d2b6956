//! `semel serve`: runs everything that a configuration file names.

use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::serving;
use crate::stores::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    flags: serving::Flags,
}

pub(crate) async fn run(args: &Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    serving::run(config.source(args.flags.settings()), store).await
}
