//! Behind PgBouncer in transaction mode, where every transaction may come to another session.

use semel_sqlx::{Consumer, Message, Processed};
use sqlx::{AssertSqlSafe, Postgres, Transaction};

use crate::support::Account;
use crate::support::bouncer::Bouncer;

/// Without this PgBouncer refuses what sqlx says when it connects.
const LETS_SQLX_IN: &str = "ignore_startup_parameters = extra_float_digits";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_take_effect_once_through_a_pooler_of_two_connections() {
    let account = Account::new().await;
    let bouncer = Bouncer::start(LETS_SQLX_IN);
    let pool = account.schema.pool_at(&bouncer.url, 6).await;
    let scope = "deposits@1".parse().unwrap();
    let consumer = Consumer::new(pool, &account.schema.config(), scope);
    let mut deliveries = tokio::task::JoinSet::new();
    for delivery in 0..60 {
        let (consumer, deposit) = (consumer.clone(), account.deposit.clone());
        deliveries.spawn(async move {
            let message = Message::new(&(delivery % 20).to_string()).unwrap();
            let handler = async |tx: &mut Transaction<'_, Postgres>| {
                let deposit = sqlx::query(AssertSqlSafe(&*deposit)).persistent(false);
                deposit.execute(&mut **tx).await.map(|_| ())
            };
            consumer.process(&message, handler).await
        });
    }
    let processed = deliveries.join_all().await;
    assert!(
        processed.iter().all(Processed::is_acknowledged),
        "{processed:?}"
    );
    assert_eq!(account.cents().await, 20 * 100);
}
