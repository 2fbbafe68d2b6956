//! `semel health`: what `/readyz` of a running process says, as words and as an exit code. It is what containers without a shell ask.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;

use crate::commands::ask;
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The admin side of the process: HOST:PORT, http://…, https://… or unix:PATH
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, alias = "url", value_name = "URL")]
    admin: Option<String>,

    /// The authorities that vouch for the admin side, as a PEM file, instead of this machine's; one that the configuration file serves on this
    /// machine is known by its own certificate
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Ask only whether the process is alive
    #[arg(long)]
    live: bool,

    /// Write the answer as JSON
    #[arg(long, conflicts_with = "live")]
    json: bool,
}

pub(crate) async fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    let (addresses, token) = ask::whom(args.admin.as_slice(), args.ca.as_deref(), config)?;
    let path = if args.live { "/healthz" } else { "/readyz" };
    for address in &addresses {
        let (status, body) = ask::get(address, path, token.as_ref()).await?;
        let readiness: Option<Value> = serde_json::from_slice(&body).ok();
        match (status, readiness) {
            (200, _) if args.live => output::data("alive")?,
            (200 | 503, Some(readiness)) => {
                match args.json {
                    true => output::json(&readiness)?,
                    false => output::data(&words(&readiness))?,
                }
                if status != 200 {
                    return Err(Error::refused(format!(
                        "the process at {address} is not ready"
                    )));
                }
            }
            _ => return Err(ask::unanswered(address, status, &body)),
        }
    }
    Ok(())
}

/// A line for each part, those of `upstreams` last.
fn words(readiness: &Value) -> String {
    let mut lines = String::new();
    for (section, prefix) in [("parts", ""), ("upstreams", "upstream ")] {
        let parts = readiness[section].as_array().map_or(&[][..], Vec::as_slice);
        for part in parts {
            let name = part["name"].as_str().unwrap_or("?");
            let is_ready = part["ready"] == true;
            let said = if is_ready { "ready" } else { "not ready" };
            let why = part["why"].as_str();
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            // Writing to a text does not fail.
            let _ = writeln!(lines, "{prefix}{name:<20} {said}{why}");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_line_that_says_why_it_is_not_ready() {
        let readiness = serde_json::json!({ "ready": false, "parts": [
            { "name": "store", "ready": true, "age_ms": 3 },
            { "name": "gateway", "ready": false, "why": "draining" },
        ]});
        let expected = "store                ready\ngateway              not ready: draining\n";
        assert_eq!(words(&readiness), expected);
    }
}
