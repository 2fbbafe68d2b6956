//! The store on PostgreSQL holds to the suite that every store is held to.

mod support;

use semel_testkit::conformance::Subject;

async fn fresh() -> Subject {
    let schema = support::Schema::new();
    let store = std::sync::Arc::new(schema.open().await);
    Subject::in_real_time(store.clone())
        .with_outcomes(store)
        .keeping(schema)
}

semel_testkit::conformance!("PostgreSQL", fresh().await);
semel_testkit::conformance_of_outcomes!("PostgreSQL", fresh().await);
