//! The store on a single Redis holds to the suite that every store is held to.

mod common;

use std::sync::Arc;

use semel_testkit::conformance::Subject;

async fn fresh() -> Subject {
    let prefix = common::Prefix::new(&common::url(common::SINGLE));
    let store = prefix.config().sweep_every(None).connect().await;
    Subject::in_real_time(Arc::new(store.expect("the store connects"))).keeping(prefix)
}

semel_testkit::conformance!("Redis", fresh().await);
