//! `semel token list`: the tokens of a file, without their secrets.

use clap::builder::styling::Style;
use semel_admin::{Grant, Token};
use semel_core::{Clock, SystemClock, Timestamp};
use serde::Serialize;

use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::serving;
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write JSON: an object with `tokens`
    #[arg(long)]
    json: bool,
}

/// A token as it is listed.
#[derive(Serialize)]
struct Listed {
    name: String,
    role: &'static str,
    /// `null` of a token for claims is every tenant.
    tenant: Option<String>,
    scopes: Option<Vec<String>>,
    expires: Option<String>,
    expired: bool,
}

pub(super) fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    let (Some(file), Some(path)) = (config.load()?, config.path()) else {
        let message = "there is no configuration file semel.yaml here";
        let hint = "name one with --config FILE";
        return Err(Error::new(Exit::Configuration, message).hint(hint));
    };
    let shown = path.shown();
    let (tokens, now) = (serving::tokens(&file.admin)?, SystemClock::new().now());
    if args.json {
        #[derive(Serialize)]
        struct All {
            tokens: Vec<Listed>,
        }
        let tokens = tokens.iter().map(|token| listed(token, now)).collect();
        return output::json(&All { tokens });
    }
    if tokens.is_empty() {
        output::note(&format!("{shown} names no token"));
        return Ok(());
    }
    let mut table = Table::new(["NAME", "ROLE", "TENANT", "SCOPES", "EXPIRES"]);
    for token in tokens.iter() {
        table.row(Style::new(), row(token, now));
    }
    table.print()
}

fn listed(token: &Token, now: Timestamp) -> Listed {
    let reach = match token.grant() {
        Grant::Claims(reach) => Some(reach),
        Grant::Read | Grant::Operate | Grant::Admin => None,
    };
    let scopes = reach.map(|reach| reach.scopes.iter().map(ToString::to_string));
    Listed {
        name: token.name().to_string(),
        role: token.role().name(),
        tenant: reach.and_then(|reach| reach.tenant.as_ref().map(ToString::to_string)),
        scopes: scopes.map(Iterator::collect),
        expires: token.expires().map(|expires| expires.to_string()),
        expired: token.is_expired(now),
    }
}

fn row(token: &Token, now: Timestamp) -> [String; 5] {
    let listed = listed(token, now);
    let every = || match token.grant() {
        Grant::Claims(_) => "every".to_owned(),
        Grant::Read | Grant::Operate | Grant::Admin => "-".to_owned(),
    };
    let expires = match token.expires() {
        None => "never".to_owned(),
        Some(expires) if token.is_expired(now) => format!("expired {}", text::ago(expires, now)),
        Some(expires) => text::moment(expires, now),
    };
    [
        listed.name,
        listed.role.to_owned(),
        listed
            .tenant
            .map_or_else(every, |tenant| text::printable(&tenant)),
        listed
            .scopes
            .map_or_else(|| "-".to_owned(), |all| all.join(", ")),
        expires,
    ]
}
