//! `semel top`: the overview of a running process in the terminal.
//!
//! `sample` asks the admin side what a browser could ask, too, and reads its `series`; `frame` makes rates of two samples; `draw` puts a frame on a
//! piece of screen; `screen` is the terminal. Nothing is stored and nothing is changed.

mod draw;
mod frame;
mod sample;
mod screen;
mod series;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Duration;

use semel_core::duration;
use semel_policy::value::Secret;

use crate::commands::ask::{self, Address};
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;
use frame::Frame;
use sample::Sample;

/// How often the process may be asked at most.
const EVERY_MIN: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The admin side of the process: HOST:PORT, http://…, https://… or unix:PATH; SEMEL_ADMIN_TOKEN holds the token
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, alias = "url", value_name = "URL")]
    admin: Option<String>,

    /// The authorities that vouch for the admin side, as a PEM file, instead of this machine's; one that the configuration file serves on this
    /// machine is known by its own certificate
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// How often the process is asked; rates are counted over this time
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = every)]
    every: Duration,

    /// Print one frame as text and end
    #[arg(long)]
    once: bool,

    /// Print one frame as JSON and end
    #[arg(long)]
    json: bool,
}

fn every(text: &str) -> std::result::Result<Duration, String> {
    match duration::parse(text) {
        Ok(every) if every >= EVERY_MIN => Ok(every),
        Ok(_) => Err(format!("expected at least {}", duration::show(EVERY_MIN))),
        Err(error) => Err(error.to_string()),
    }
}

/// The process that is watched.
#[derive(Debug)]
struct Watched {
    address: Address,
    token: Option<Secret>,
}

impl Watched {
    async fn sample(&self) -> Result<Sample> {
        Sample::take(&self.address, self.token.as_ref()).await
    }
}

pub(crate) async fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    let (mut addresses, token) = ask::whom(args.admin.as_slice(), args.ca.as_deref(), config)?;
    let Some(address) = addresses.pop() else {
        return Ok(());
    };
    let watched = Watched { address, token };
    if !args.once && !args.json {
        if !stdout().is_terminal() {
            let message = "semel top needs a terminal";
            return Err(Error::new(Exit::Usage, message)
                .hint("print one frame with --once, or as JSON with --json"));
        }
        return screen::watch(&watched, args.every).await;
    }
    let before = watched.sample().await?;
    tokio::time::sleep(args.every).await;
    let frame = Frame::of(&watched.address, Some(&before), &watched.sample().await?);
    match args.json {
        true => output::json(&frame),
        false => output::data(&draw::text(&frame)),
    }
}
