//! An order pipeline that is killed at random for a minute, and whose books reconcile to the cent.
//!
//! ```sh
//! cargo run -p order-pipeline                  # a minute of kills
//! cargo run -p order-pipeline -- --seconds 10
//! ```
//!
//! Two shops, whose orders have the same ids and versions, send orders and changes of orders as webhooks, some of them twice, changes out
//! of order, each until it is taken (`feed`). The pipeline is a process of its own (`pipeline`): it notes each order in its database and wants it charged, both in one
//! transaction, and keeps a projection of every order's total by its version. Charges go to a payment provider (`provider`) that has
//! idempotency keys of its own and bad days. The pipeline's process gets SIGKILL every second or so (`storm`). In the end four books of each shop must agree:
//! what the shop sold, what the pipeline noted, what its projection says, and what the provider charged (`books`).

mod books;
mod feed;
mod pipeline;
mod provider;
mod storm;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
struct Args {
    /// How long the pipeline is killed again and again
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,

    /// Repeat the random choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The process that is killed
    #[command(hide = true)]
    Pipeline {
        database: PathBuf,
        address: std::net::SocketAddr,
        provider: String,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let ended = match args.command {
        Some(Command::Pipeline {
            database,
            address,
            provider,
        }) => pipeline::run(&database, address, &provider).await,
        None => {
            let seed = args.seed.unwrap_or_else(semel_testkit::random::fresh_seed);
            storm::rage(Duration::from_secs(args.seconds), seed).await
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "this is a program that people watch")]
fn say(line: &str) {
    println!("{line}");
}
