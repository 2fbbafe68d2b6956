//! `semel serve`: runs everything that a configuration file names.

use std::path::PathBuf;

use crate::error::Result;
use crate::serving::{self, Source};
use crate::stores::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The configuration file; without one, only the admin side is served
    #[arg(long, value_name = "FILE", env = "SEMEL_CONFIG")]
    config: Option<PathBuf>,

    #[command(flatten)]
    flags: serving::Flags,
}

pub(crate) async fn run(args: Args, store: StoreArgs) -> Result<()> {
    let source = Source::new(args.config, args.flags.settings());
    serving::run(source, store).await
}
