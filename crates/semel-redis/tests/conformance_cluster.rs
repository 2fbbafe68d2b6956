//! The store on a Redis Cluster holds to the suite that every store is held to.

mod common;

use std::sync::Arc;

use semel_testkit::conformance::Subject;

async fn fresh() -> Subject {
    let prefix = common::Prefix::new(&common::url(common::CLUSTER));
    let store = prefix.config().sweep_every(None).connect().await;
    Subject::in_real_time(Arc::new(store.expect("the store connects"))).keeping(prefix)
}

semel_testkit::conformance!("Redis Cluster", fresh().await);
