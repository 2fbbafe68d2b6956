//! Opens the store that is meant. The only place of this program that names concrete stores.
//!
//! `args` is what the command line says, `url` what it means; `sqlite`, `postgres`, `redis` and `hybrid` open
//! one kind of store each, and what they open is `opened`.

mod args;
mod hybrid;
mod opened;
mod postgres;
mod redis;
mod sqlite;
mod url;

pub(crate) use args::StoreArgs;
pub(crate) use opened::{Opened, must_not_be_sealed};
pub(crate) use sqlite::version as sqlite_version;

use std::sync::Arc;
use std::time::Duration;

use semel_core::store::StoreObserver;
use semel_core::{Clock, Kind};
use semel_policy::value::{Address, Engine, StoreUrl};

use crate::error::{Error, Result};

/// How a store is opened.
struct Opening {
    /// How long to wait for another process that writes to the same file.
    busy_timeout: Duration,
    purpose: Purpose,
}

/// What a store is opened for.
enum Purpose {
    /// To work with it: it is created if need be, swept, and watched.
    Serve(Arc<dyn StoreObserver>),
    /// To look into it: nothing is created and nothing is swept.
    Look,
}

/// One store, and the clock that it judges by.
struct Part<S> {
    store: Arc<S>,
    clock: Arc<dyn Clock>,
}

async fn open(url: &StoreUrl, opening: &Opening) -> Result<Opened> {
    match url {
        StoreUrl::One(address) => open_one(address, opening).await,
        StoreUrl::Hybrid { claims, outcomes } => hybrid::open(claims, outcomes, opening).await,
    }
}

async fn open_one(address: &Address, opening: &Opening) -> Result<Opened> {
    match address.engine() {
        Engine::Sqlite => Ok(sqlite::open(address, opening)?.into()),
        Engine::Postgres => Ok(postgres::open(address, opening).await?.into()),
        Engine::Redis | Engine::RedisCluster => Ok(redis::open(address, opening).await?.into()),
        _ => Err(url::elsewhere(address.scheme())),
    }
}

/// What went wrong with the store at `address`, of which the harmless part is told.
fn failed(address: &Address, error: semel_core::Error) -> Error {
    let kind = error.kind();
    let said = Error::from(error).when(&format!("cannot open {address}"));
    match kind {
        Kind::Unavailable => said.hint("is the server up, and can this machine reach it?"),
        _ => said,
    }
}
