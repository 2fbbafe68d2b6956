//! The processes that the gateway is measured with: the service behind it, and the least that is a proxy.

use std::net::SocketAddr;

use clap::Subcommand;
use semel_bench::gateway::{hyper_proxy, upstream};

use crate::error::Result;

/// Which of them to be.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer every request at once
    Upstream {
        /// Where to listen
        #[arg(long, value_name = "ADDRESS")]
        listen: SocketAddr,
    },
    /// Pass every request on
    HyperProxy {
        /// Where to listen
        #[arg(long, value_name = "ADDRESS")]
        listen: SocketAddr,

        /// The service behind
        #[arg(long, value_name = "ADDRESS")]
        upstream: SocketAddr,
    },
}

/// Serves until the process ends.
pub(crate) async fn run(command: Command) -> Result<()> {
    match command {
        Command::Upstream { listen } => upstream::serve(listen).await?,
        Command::HyperProxy { listen, upstream } => hyper_proxy::serve(listen, upstream).await?,
    }
    Ok(())
}
