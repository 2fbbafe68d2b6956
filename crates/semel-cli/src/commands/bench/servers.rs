//! Stores on servers: a schema or a prefix of their own on the server that is named, removed afterwards.

use std::sync::Arc;

use semel_bench::StoreOptions;
use semel_bench::baseline::{Baseline, postgres, redis};
use semel_bench::store::{Goals, OpenStore};
use semel_bench::sweep::Count;
use semel_core::{Result, Store};
use semel_hybrid::Hybrid;
use semel_policy::value::{Address, Engine, StoreUrl};

/// What is measured, and what it leaves behind.
pub(super) struct Servers {
    postgres: Option<semel_postgres::Config>,
    redis: Option<(semel_redis::Config, redis::Servers)>,
    name: String,
}

impl Servers {
    /// The servers that `url` names; `None` if it names a file alone.
    pub(super) fn of(url: &StoreUrl) -> Result<Option<Self>> {
        let name = format!("semel_bench_{}", std::process::id());
        let (claims, outcomes) = match url {
            StoreUrl::One(address) if address.engine() == Engine::Sqlite => return Ok(None),
            StoreUrl::One(address) if address.engine() == Engine::Postgres => (None, Some(address)),
            StoreUrl::One(address) => (Some(address), None),
            StoreUrl::Hybrid { claims, outcomes } => (Some(claims), Some(outcomes)),
        };
        let postgres = outcomes
            .map(|address| semel_postgres::Config::from_url(address.as_str())?.schema(&name));
        let redis = claims.map(|address| {
            let config = semel_redis::Config::from_url(address.as_str())?.prefix(&name);
            Ok::<_, semel_core::Error>((config, place(address)))
        });
        Ok(Some(Self {
            postgres: postgres.transpose()?,
            redis: redis.transpose()?,
            name,
        }))
    }

    /// The same servers with another store on them.
    pub(super) fn named(self, suffix: &str) -> Result<Self> {
        let name = format!("{}_{suffix}", self.name);
        let postgres = self.postgres.map(|config| config.schema(&name));
        Ok(Self {
            postgres: postgres.transpose()?,
            redis: self
                .redis
                .map(|(config, place)| (config.prefix(&name), place)),
            name,
        })
    }

    /// Opens the store, which is made if it is not there.
    pub(super) fn opening(&self) -> OpenStore {
        let (postgres, redis) = (self.postgres.clone(), self.redis.clone());
        Box::new(move |_| {
            let (postgres, redis) = (postgres.clone(), redis.clone());
            Box::pin(open(postgres, redis.map(|(config, _)| config)))
        })
    }

    /// Counts what the store holds exactly, where its own counts are estimates.
    pub(super) fn counting(&self) -> Option<Count> {
        let server = self.postgres.as_ref()?.server().clone();
        let name = self.name.clone();
        Some(Box::new(move |_| {
            let (server, name) = (server.clone(), name.clone());
            Box::pin(async move { postgres::held(&server, &name).await })
        }))
    }

    /// Has this store measured instead of an embedded one.
    pub(super) fn measured_by(&self, options: &mut StoreOptions) {
        options.open = self.opening();
        let (callers, name) = (options.callers, self.name.clone());
        match (&self.postgres, &self.redis) {
            (Some(config), _) => {
                let server = config.server().clone();
                options.goals = Goals::POSTGRES;
                options.open_baseline = Box::new(move |_| {
                    let (server, name) = (server.clone(), name.clone());
                    Box::pin(async move {
                        let raw = postgres::RawPostgres::connect(&server, &name, callers).await?;
                        Ok(Arc::new(raw) as Arc<dyn Baseline>)
                    })
                });
            }
            (None, Some((_, place))) => {
                let place = place.clone();
                options.goals = Goals::REDIS;
                options.open_baseline = Box::new(move |_| {
                    let (place, name) = (place.clone(), name.clone());
                    Box::pin(async move {
                        let raw = redis::RawRedis::connect(&place, &name, callers).await?;
                        Ok(Arc::new(raw) as Arc<dyn Baseline>)
                    })
                });
            }
            (None, None) => {}
        }
    }

    /// Removes what a run has left on the servers.
    pub(super) async fn clean(&self) -> Result<()> {
        if let Some(config) = &self.postgres {
            postgres::clean(config.server(), &self.name).await?;
        }
        if let Some((_, place)) = &self.redis {
            // Keys of the store begin with their hash tag, those of the baseline do not.
            redis::clean(place, &format!("{{{}", self.name)).await?;
            redis::clean(place, &self.name).await?;
        }
        Ok(())
    }
}

async fn open(
    postgres: Option<semel_postgres::Config>,
    redis: Option<semel_redis::Config>,
) -> Result<Arc<dyn Store>> {
    Ok(match (postgres, redis) {
        (Some(postgres), Some(redis)) => {
            let (fast, durable) = (redis.connect().await?, postgres.connect().await?);
            Arc::new(Hybrid::new(Arc::new(fast), Arc::new(durable)))
        }
        (Some(postgres), None) => Arc::new(postgres.connect().await?),
        (None, Some(redis)) => Arc::new(redis.connect().await?),
        (None, None) => unreachable!("servers are one or two"),
    })
}

/// The address in the driver's own words, without our parameters.
fn place(address: &Address) -> redis::Servers {
    let text = address.as_str().split('?').next().unwrap_or_default();
    let Some((scheme, rest)) = text.split_once("-cluster://") else {
        return redis::Servers::One(text.to_owned());
    };
    let (credentials, hosts) = match rest.rsplit_once('@') {
        Some((credentials, hosts)) => (format!("{credentials}@"), hosts),
        None => (String::new(), rest),
    };
    let node = |host: &str| format!("{scheme}://{credentials}{host}");
    redis::Servers::Cluster(hosts.split(',').map(node).collect())
}
