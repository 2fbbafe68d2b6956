//! The suites of stores and inboxes hold behind the seal on servers, too. Each handle has a key ring of its own, as processes have.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where its expectation does"
)]

#[path = "../../semel-postgres/tests/support/mod.rs"]
mod on_postgres;
#[path = "../../semel-redis/tests/common/mod.rs"]
mod on_redis;

use std::sync::Arc;

use semel_core::Store;
use semel_seal::{Kek, Keyring, Sealed, SealedInbox};
use semel_testkit::conformance::{Ability, Handle, Subject};

fn keyring(store: Arc<dyn Store>) -> Keyring {
    let kek = Kek::new("a", &"0a".repeat(32)).unwrap();
    Keyring::new(store, vec![kek]).unwrap()
}

fn sealed(store: Arc<dyn Store>) -> Sealed {
    Sealed::new(store.clone(), keyring(store))
}

/// On the server or the cluster that this variable names.
async fn on_redis(variable: &str) -> Subject {
    let prefix = on_redis::Prefix::new(&on_redis::url(variable));
    let config = prefix.config().sweep_every(None);
    let open = move || {
        let connecting = config.clone().connect();
        async move { Handle::of(sealed(Arc::new(connecting.await.unwrap()))) }
    };
    let declined = [Ability::Clock, Ability::Outcomes, Ability::Stalls];
    let subject = Subject::opened(open).await.declining(&declined);
    subject.keeping(prefix)
}

mod redis_sealed {
    use super::*;

    // Not the suite of erasing: it compares lengths and digests of what was erased, and those that stay are of the sealed text.
    semel_testkit::conformance_of_records!("Redis, sealed", on_redis(on_redis::SINGLE).await);
}

/// A tenant's key lies in another slot than what is sealed under it.
mod redis_cluster_sealed {
    use super::*;

    semel_testkit::conformance_of_records!(
        "Redis Cluster, sealed",
        on_redis(on_redis::CLUSTER).await
    );
}

mod postgres_sealed {
    use super::*;

    async fn fresh() -> Subject {
        let schema = Arc::new(on_postgres::Schema::new());
        let opened = schema.clone();
        let open = move || {
            let schema = opened.clone();
            async move { Handle::of(sealed(Arc::new(schema.open().await))) }
        };
        let declined = [Ability::Clock, Ability::Outcomes, Ability::Stalls];
        let subject = Subject::opened(open).await.declining(&declined);
        subject.keeping(schema)
    }

    semel_testkit::conformance_of_records!("PostgreSQL, sealed", fresh().await);
    semel_testkit::conformance_of_sharing!("PostgreSQL, sealed", fresh().await);
}

mod postgres_messages {
    use semel_testkit::inbox;

    use super::*;

    async fn fresh() -> inbox::Subject {
        let schema = Arc::new(on_postgres::Schema::new());
        let store = Arc::new(schema.open().await);
        let messages = SealedInbox::new(store.clone(), keyring(store.clone()));
        let records = sealed(store);
        inbox::Subject::in_real_time(Arc::new(messages), Arc::new(records)).keeping(schema)
    }

    semel_testkit::inbox_conformance!("PostgreSQL, sealed", fresh().await);
}
