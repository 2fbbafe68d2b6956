//! A store on a Redis server or a Redis Cluster.

use std::sync::Arc;

use semel_policy::value::Address;
use semel_redis::{Config, RedisStore};

use super::opened::ServersTime;
use super::{Opening, Part, failed};
use crate::error::Result;

pub(super) async fn open(
    address: &Address,
    opening: &Opening,
    part: &'static str,
) -> Result<Part<RedisStore>> {
    let failed = |error| failed(address, error);
    let config = Config::from_url(address.as_str()).map_err(failed)?;
    let config = match opening.watch(part) {
        Some(watch) => config.watch(watch),
        None => config.sweep_every(None),
    };
    let store = config.connect().await.map_err(failed)?;
    let store = Arc::new(store);
    let clock = Arc::new(ServersTime(store.clone()));
    Ok(Part { store, clock })
}
