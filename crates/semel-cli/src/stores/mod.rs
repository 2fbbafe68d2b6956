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

use semel_admin::metrics::WHOLE;
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
    Serve(Arc<dyn Watch>),
    /// To look into it: nothing is created and nothing is swept.
    Look,
}

/// Watches a store part by part. A store has one, [`WHOLE`]; a hybrid has [`CLAIMS`] and [`OUTCOMES`], and each of them sweeps itself.
pub(crate) trait Watch: Send + Sync {
    /// What watches this part.
    fn part(&self, part: &'static str) -> Arc<dyn StoreObserver>;

    /// This part is open and sweeps itself.
    fn sweeps(&self, part: &'static str);
}

/// The parts of a hybrid.
const CLAIMS: &str = "claims";
const OUTCOMES: &str = "outcomes";

impl Opening {
    /// What watches a part of a store that is opened to work with it.
    fn watch(&self, part: &'static str) -> Option<Arc<dyn StoreObserver>> {
        match &self.purpose {
            Purpose::Serve(watch) => Some(watch.part(part)),
            Purpose::Look => None,
        }
    }
}

/// One store, and the clock that it judges by.
struct Part<S> {
    store: Arc<S>,
    clock: Arc<dyn Clock>,
}

async fn open(url: &StoreUrl, opening: &Opening) -> Result<Opened> {
    let (opened, parts): (_, &[_]) = match url {
        StoreUrl::One(address) => (open_one(address, opening).await?, &[WHOLE]),
        StoreUrl::Hybrid { claims, outcomes } => {
            let opened = hybrid::open(claims, outcomes, opening).await?;
            (opened, &[CLAIMS, OUTCOMES])
        }
    };
    if let Purpose::Serve(watch) = &opening.purpose {
        parts.iter().for_each(|part| watch.sweeps(part));
    }
    Ok(opened)
}

async fn open_one(address: &Address, opening: &Opening) -> Result<Opened> {
    match address.engine() {
        Engine::Sqlite => Ok(sqlite::open(address, opening, WHOLE)?.into()),
        Engine::Postgres => Ok(postgres::open(address, opening, WHOLE).await?.into()),
        Engine::Redis | Engine::RedisCluster => {
            Ok(redis::open(address, opening, WHOLE).await?.into())
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use semel_core::record::Claim;
    use semel_core::store::Swept;

    use super::*;

    /// Notes which parts are watched and which sweep themselves.
    #[derive(Default)]
    struct Noted(Mutex<Vec<String>>);

    struct Nothing;

    impl StoreObserver for Nothing {
        fn committed(&self, _: usize, _: Duration) {}

        fn lease_ended(&self, _: &Claim) {}

        fn swept(&self, _: std::result::Result<&Swept, &semel_core::Error>) {}
    }

    impl Watch for Noted {
        fn part(&self, part: &'static str) -> Arc<dyn StoreObserver> {
            self.0.lock().unwrap().push(format!("{part} is watched"));
            Arc::new(Nothing)
        }

        fn sweeps(&self, part: &'static str) {
            self.0.lock().unwrap().push(format!("{part} sweeps"));
        }
    }

    #[tokio::test]
    async fn a_sweep_is_expected_of_a_store_once_it_is_open_to_work_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("semel.db").display());
        let noted = Arc::new(Noted::default());
        for purpose in [Purpose::Serve(noted.clone()), Purpose::Look] {
            let opening = Opening {
                busy_timeout: Duration::from_secs(1),
                purpose,
            };
            open(&url::read(&url).unwrap(), &opening).await.unwrap();
        }
        let noted = noted.0.lock().unwrap();
        assert_eq!(*noted, ["store is watched", "store sweeps"]);
    }
}
