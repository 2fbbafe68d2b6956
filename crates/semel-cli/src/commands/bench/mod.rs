//! `semel bench`: how fast this machine is, as ratios against baselines in the same run.

mod gateway;
mod peer;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use semel_bench::store::Opening;
use semel_core::Store;

use crate::error::Result;
use crate::stores::StoreArgs;

pub(super) use peer::{Command as Peer, run as serve_peer};

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Durable claims and settles, and replays, against a raw log on the same disk
    ///
    /// The store that --store names is not touched: a new one is made beside it and removed afterwards.
    Store(store::Args),
    /// The gateway on the embedded store, against nginx and a minimal proxy
    ///
    /// The store that --store names is not touched: a new one is made beside it and removed afterwards. nginx must
    /// be installed; SEMEL_BENCH_NGINX names the program if it is not where programs usually are.
    Gateway(gateway::Args),
}

/// Measures and prints.
pub(crate) async fn run(command: Command, store: &StoreArgs) -> Result<()> {
    let dir = directory_of(&store.path()?);
    match command {
        Command::Store(args) => store::run(args, dir).await,
        Command::Gateway(args) => gateway::run(args, dir).await,
    }
}

/// The directory of a file, which is on the disk that counts.
fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Opens a new embedded store in an empty directory.
fn open(dir: PathBuf) -> Opening<dyn Store> {
    Box::pin(async move {
        let store = semel_sqlite::Config::new(dir.join("semel.db")).open()?;
        Ok(Arc::new(store) as Arc<dyn Store>)
    })
}
