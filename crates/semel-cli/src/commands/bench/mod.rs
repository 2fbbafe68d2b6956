//! `semel bench`: how fast this machine is, as ratios against baselines in the same run.

mod gateway;
mod inbox;
mod memory;
mod peer;
mod servers;
mod source;
mod store;
mod sweep;
mod watched;

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
    /// Durable claims and settles, and replays, against the raw baseline of the same disk or server
    ///
    /// The store that --store names is not touched: a new one is made beside it (in the same directory, in a schema of its
    /// own, under a prefix of its own) and removed afterwards. The baseline is a raw log, two plain SQL statements, or two
    /// plain Redis commands.
    Store(store::Args),
    /// Durable claims and settles at full speed whose records expire soon: does the sweep keep up, does the store stay as large as it is
    ///
    /// The store that --store names is not touched: two new ones are made beside it and removed afterwards. The records of one
    /// expire, those of the other are kept.
    Sweep(sweep::Args),
    /// Messages received, and claimed with their completion, against a plain table on the same disk or server
    ///
    /// The store that --store names is not touched: new ones are made beside it (in the same directory, in schemas of their own) and
    /// removed afterwards. The baseline is a table with a status, claimed with SKIP LOCKED where the server knows it.
    Inbox(inbox::Args),
    /// Messages of brokers received into the inbox, and handled to the end, against bare consumers that only acknowledge
    ///
    /// Each broker that is named is measured; what is made there (a topic, a stream, queues) is removed afterwards. The store that
    /// --store names is not touched: a new inbox is made beside it. The baseline is a consumer of the same client library.
    Source(source::Args),
    /// The gateway on the embedded store, against nginx and a minimal proxy
    ///
    /// The store that --store names is not touched: a new one is made beside it and removed afterwards. nginx must
    /// be installed; SEMEL_BENCH_NGINX names the program if it is not where programs usually are.
    Gateway(gateway::Args),
    /// What bodies that are sent byte by byte cost the gateway in memory, and whether it gives it back
    ///
    /// The store that --store names is not touched: a new one is made beside it and removed afterwards.
    Memory(memory::Args),
    /// What it costs the gateway to be watched: with the dashboard open in browsers, and with spans sent to a collector, against neither
    ///
    /// The store that --store names is not touched: new ones are made beside it and removed afterwards.
    Watched(watched::Args),
}

/// Measures and prints.
pub(crate) async fn run(command: Command, store: &StoreArgs) -> Result<()> {
    match command {
        Command::Store(args) => store::run(args, &store.url()?, directory(store)?).await,
        Command::Sweep(args) => sweep::run(args, &store.url()?, directory(store)?).await,
        Command::Inbox(args) => inbox::run(args, &store.url()?, directory(store)?).await,
        Command::Source(args) => source::run(args, &store.url()?, directory(store)?).await,
        Command::Gateway(args) => gateway::run(args, directory_of(&store.path()?)).await,
        Command::Memory(args) => memory::run(args, directory_of(&store.path()?)).await,
        Command::Watched(args) => watched::run(args, directory_of(&store.path()?)).await,
    }
}

/// Servers have their own disks; what is measured of this machine's is where we are.
fn directory(store: &StoreArgs) -> Result<PathBuf> {
    let file = store.file()?;
    Ok(file.map_or_else(|| PathBuf::from("."), |file| directory_of(&file)))
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
