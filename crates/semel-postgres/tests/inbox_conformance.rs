//! The inbox on PostgreSQL holds to the suite that every inbox is held to, with and without a pooler in between.

mod support;

mod direct {
    use std::sync::Arc;

    use semel_core::{Inbox, Store};
    use semel_testkit::inbox::Subject;

    use super::support::Schema;

    async fn fresh() -> Subject {
        let schema = Arc::new(Schema::new());
        let store = Arc::new(schema.open().await);
        let subject = Subject::in_real_time(store.clone(), store).keeping(schema.clone());
        subject.reopening(move || {
            let schema = schema.clone();
            async move {
                let store = Arc::new(schema.open().await);
                (store.clone() as Arc<dyn Inbox>, store as Arc<dyn Store>)
            }
        })
    }

    semel_testkit::inbox_conformance!("PostgreSQL", fresh().await);
    semel_testkit::inbox_conformance_with_reopening!("PostgreSQL", fresh().await);
}

mod pooled {
    use std::sync::Arc;

    use semel_testkit::inbox::Subject;

    use super::support::Schema;
    use super::support::bouncer::Bouncer;

    async fn fresh() -> Subject {
        let (bouncer, schema) = (Bouncer::start(""), Schema::new());
        let url = format!("{}?prepare=off", bouncer.url);
        let connected = schema.config_at(&url).connect().await;
        let store = Arc::new(connected.expect("the pooler lets it through"));
        Subject::in_real_time(store.clone(), store).keeping((schema, bouncer))
    }

    semel_testkit::inbox_conformance!("PostgreSQL behind PgBouncer", fresh().await);
}
