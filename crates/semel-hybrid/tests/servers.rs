//! Claims in Redis, outcomes in PostgreSQL: the hybrid that people run holds to the suite that every store is held to.

#[path = "../../semel-redis/tests/common/mod.rs"]
mod claims;
#[path = "../../semel-postgres/tests/support/mod.rs"]
mod outcomes;

use std::sync::Arc;

use semel_hybrid::Hybrid;
use semel_testkit::conformance::{Ability, Handle, Subject};

async fn fresh() -> Subject {
    let prefix = claims::Prefix::new(&claims::url(claims::SINGLE));
    let schema = Arc::new(outcomes::Schema::new());
    let servers = Arc::new((prefix, schema.clone()));
    let opened = servers.clone();
    let open = move || {
        let servers = opened.clone();
        async move {
            let fast = servers.0.config().sweep_every(None).connect().await;
            let durable = Arc::new(servers.1.open().await);
            Handle::of(Hybrid::new(
                Arc::new(fast.expect("the store connects")),
                durable,
            ))
        }
    };
    let subject = Subject::opened(open).await.keeping(servers);
    subject
        .stalled_by(move || outcomes::hold_up(schema.clone()))
        .declining(&[Ability::Clock, Ability::Outcomes])
}

semel_testkit::conformance!("hybrid of Redis and PostgreSQL", fresh().await);
semel_testkit::conformance_of_sharing!("hybrid of Redis and PostgreSQL", fresh().await);
semel_testkit::conformance_of_durability!("hybrid of Redis and PostgreSQL", fresh().await);
semel_testkit::conformance_of_stalls!("hybrid of Redis and PostgreSQL", fresh().await);
