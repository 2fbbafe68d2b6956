//! The inbox on PostgreSQL holds to the suite that every inbox is held to.

mod support;

use std::sync::Arc;

use semel_testkit::inbox::Subject;

async fn fresh() -> Subject {
    let schema = support::Schema::new();
    let store = Arc::new(schema.open().await);
    Subject::in_real_time(store.clone(), store).keeping(schema)
}

semel_testkit::inbox_conformance!("PostgreSQL", fresh().await);
