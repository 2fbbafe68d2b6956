//! The store on a Redis Cluster holds to the suite that every store is held to.

mod common;

use semel_testkit::conformance::Subject;

async fn fresh() -> Subject {
    common::subject(common::CLUSTER).await
}

semel_testkit::conformance!("Redis Cluster", fresh().await);
semel_testkit::conformance_of_sharing!("Redis Cluster", fresh().await);
semel_testkit::conformance_of_durability!("Redis Cluster", fresh().await);
