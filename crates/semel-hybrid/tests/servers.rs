//! Claims in Redis, outcomes in PostgreSQL: the hybrid that people run holds to the suite that every store is held to.

#[path = "../../semel-redis/tests/common/mod.rs"]
mod claims;
#[path = "../../semel-postgres/tests/support/mod.rs"]
mod outcomes;

use std::sync::Arc;

use semel_hybrid::Hybrid;
use semel_testkit::conformance::Subject;

async fn fresh() -> Subject {
    let prefix = claims::Prefix::new(&claims::url(claims::SINGLE));
    let fast = prefix.config().sweep_every(None).connect().await;
    let schema = outcomes::Schema::new();
    let durable = Arc::new(schema.open().await);
    let hybrid = Hybrid::new(Arc::new(fast.expect("the store connects")), durable);
    Subject::in_real_time(Arc::new(hybrid)).keeping((prefix, schema))
}

semel_testkit::conformance!("hybrid of Redis and PostgreSQL", fresh().await);
