//! Claims in a fast store, outcomes in a durable one. Time is the durable one's.

use std::sync::Arc;

use semel_core::Clock;
use semel_core::store::OutcomeStore;
use semel_hybrid::Hybrid;
use semel_policy::value::{Address, Engine};
use semel_sqlite::SqliteStore;

use super::opened::Server;
use super::{CLAIMS, OUTCOMES, Opened, Opening, postgres, redis, sqlite, url};
use crate::error::Result;

/// The store that keeps outcomes.
struct Durable {
    store: Arc<dyn OutcomeStore>,
    clock: Arc<dyn Clock>,
    server: Option<Server>,
    file: Option<Arc<SqliteStore>>,
}

pub(super) async fn open(
    claims: &Address,
    outcomes: &Address,
    opening: &Opening,
) -> Result<Opened> {
    let durable = durable(outcomes, opening).await?;
    let fast = redis::open(claims, opening, CLAIMS).await?;
    let mut servers = vec![Server::Redis(fast.store.clone())];
    servers.extend(durable.server);
    Ok(Opened {
        store: Arc::new(Hybrid::new(fast.store, durable.store)),
        clock: durable.clock,
        inbox: None,
        servers,
        file: durable.file,
        keys: None,
    })
}

async fn durable(outcomes: &Address, opening: &Opening) -> Result<Durable> {
    match outcomes.engine() {
        Engine::Sqlite => {
            let part = sqlite::open(outcomes, opening, OUTCOMES)?;
            Ok(Durable {
                store: part.store.clone(),
                clock: part.clock,
                server: None,
                file: Some(part.store),
            })
        }
        Engine::Postgres => {
            let part = postgres::open(outcomes, opening, OUTCOMES).await?;
            Ok(Durable {
                store: part.store.clone(),
                clock: part.clock,
                server: Some(Server::Postgres(part.store)),
                file: None,
            })
        }
        _ => Err(url::elsewhere(outcomes.scheme())),
    }
}
