//! `semel duplicates`: what came again, and how long outcomes must be remembered.
//!
//! The counts are in the memory of the processes that serve, so these are asked, at their admin sides.

mod table;

use std::path::PathBuf;

use semel_admin::view::Duplicates;

use super::ask;
use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::output;

/// Where the admin side has them.
const PATH: &str = "/api/v1/duplicates";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The admin side of the process: HOST:PORT, http://…, https://… or unix:PATH; may be given many times, and the counts are added up
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, alias = "url", value_name = "URL")]
    admin: Vec<String>,

    /// The authorities that vouch for the admin side, as a PEM file, instead of this machine's; one that the configuration file serves on this
    /// machine is known by its own certificate
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Write JSON: an object with `since` and `scopes`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    let (addresses, token) = ask::whom(&args.admin, args.ca.as_deref(), config)?;
    let mut all: Option<Duplicates> = None;
    for address in &addresses {
        let absent = "counts no duplicates";
        let found: Duplicates = ask::must(address, (PATH, absent), token.as_ref()).await?;
        all = Some(match all {
            Some(before) => before.with(found),
            None => found,
        });
    }
    let Some(mut found) = all else {
        return Ok(());
    };
    found
        .scopes
        .sort_by_key(|row| std::cmp::Reverse((row.retention.is_too_short(), row.suppressed)));
    if args.json {
        return output::json(&found);
    }
    let whom: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    table::print(&found, &whom.join(", "))
}
