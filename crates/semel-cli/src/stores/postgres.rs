//! A store in a PostgreSQL database.

use std::sync::Arc;

use semel_policy::value::Address;
use semel_postgres::{Config, PostgresStore};

use super::opened::ServersTime;
use super::{Opening, Part, failed};
use crate::error::Result;

pub(super) async fn open(
    address: &Address,
    opening: &Opening,
    part: &'static str,
) -> Result<Part<PostgresStore>> {
    let failed = |error| failed(address, error);
    let config = Config::from_url(address.as_str()).map_err(failed)?;
    let config = match opening.watch(part) {
        Some(watch) => config.watch(watch),
        None => config.sweep_every(None).must_exist(),
    };
    let store = config.connect().await.map_err(failed)?;
    // From here on the store's clock is the server's.
    store.ask_time().await.map_err(failed)?;
    let store = Arc::new(store);
    let clock = Arc::new(ServersTime(store.clone()));
    Ok(Part { store, clock })
}

/// Whether the tables are there.
pub(super) async fn has_tables(address: &Address) -> Result<bool> {
    let failed = |error| failed(address, error);
    let config = Config::from_url(address.as_str()).map_err(failed)?;
    config.has_tables().await.map_err(failed)
}
