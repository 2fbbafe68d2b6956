//! The store on a single Redis holds to the suite that every store is held to.

mod common;

use semel_testkit::conformance::Subject;

async fn fresh() -> Subject {
    common::subject(common::SINGLE).await
}

semel_testkit::conformance!("Redis", fresh().await);
semel_testkit::conformance_of_sharing!("Redis", fresh().await);
semel_testkit::conformance_of_durability!("Redis", fresh().await);
