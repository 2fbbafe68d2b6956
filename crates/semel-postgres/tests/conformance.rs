//! The store on PostgreSQL holds to the suite that every store is held to.

mod support;

use std::sync::Arc;

use semel_testkit::conformance::{Ability, Handle, Subject};

async fn fresh() -> Subject {
    let schema = Arc::new(support::Schema::new());
    let opened = schema.clone();
    let open = move || {
        let schema = opened.clone();
        async move { Handle::with_outcomes(schema.open().await) }
    };
    let subject = Subject::opened(open).await.keeping(schema.clone());
    subject
        .stalled_by(move || support::hold_up(schema.clone()))
        .declining(&[Ability::Clock])
}

semel_testkit::conformance!("PostgreSQL", fresh().await);
semel_testkit::conformance_of_outcomes!("PostgreSQL", fresh().await);
semel_testkit::conformance_of_sharing!("PostgreSQL", fresh().await);
semel_testkit::conformance_of_durability!("PostgreSQL", fresh().await);
semel_testkit::conformance_of_durable_outcomes!("PostgreSQL", fresh().await);
semel_testkit::conformance_of_stalls!("PostgreSQL", fresh().await);
