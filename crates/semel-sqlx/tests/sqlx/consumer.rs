//! Messages that take effect once.

use semel_core::OnFailure;
use semel_sqlx::{Message, Next, Processed};
use sqlx::{Postgres, Transaction};

use crate::support::{Account, run};

fn message() -> Message {
    Message::new("m").expect("a valid id").payload(b"100")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_deliveries_at_once_take_effect_once() {
    let account = Account::new().await;
    let consumer = account.consumer("deposits@1");
    let mut deliveries = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (consumer, deposit) = (consumer.clone(), account.deposit.clone());
        deliveries.spawn(async move {
            let processed: Processed<u32, sqlx::Error> = consumer
                .process(&message(), async |tx| {
                    run(&deposit, tx).await?;
                    Ok(7)
                })
                .await;
            processed
        });
    }
    let processed = deliveries.join_all().await;
    assert!(
        processed.iter().all(Processed::is_acknowledged),
        "{processed:?}"
    );
    let done = processed.iter().filter(|p| matches!(p, Processed::Done(7)));
    assert_eq!(done.count(), 1);
    let again = processed
        .iter()
        .filter(|p| matches!(p, Processed::Duplicate(7)));
    assert_eq!(again.count(), 7);
    assert_eq!(account.cents().await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_handler_is_run_again_and_a_final_failure_is_not() {
    let account = Account::new().await;
    let consumer = account.consumer("deposits@1");
    let failing = async |tx: &mut Transaction<'_, Postgres>| {
        run(&account.deposit, tx).await.unwrap();
        Err::<(), _>("no")
    };
    let processed = consumer.process(&message(), failing).await;
    assert!(matches!(processed, Processed::Retry("no")), "{processed:?}");
    assert!(matches!(processed.next(), Next::Redeliver { .. }));
    assert_eq!(account.cents().await, 0);
    let keep = |_: &&str| OnFailure::Keep;
    let processed = consumer.process_classified(&message(), keep, failing).await;
    assert!(
        matches!(processed, Processed::Failed("no")),
        "{processed:?}"
    );
    let processed = consumer.process(&message(), failing).await;
    assert!(
        matches!(processed, Processed::FailedBefore),
        "{processed:?}"
    );
    assert_eq!(processed.next(), Next::Park);
    assert_eq!(account.cents().await, 0);
}

/// Between the rollback of a failed handler and the record of its failure another delivery may succeed.
#[tokio::test(flavor = "multi_thread")]
async fn a_final_failure_does_not_hide_that_another_delivery_succeeded() {
    let account = Account::new().await;
    let consumer = account.consumer("deposits@1");
    let other = |_: &&str| {
        let (consumer, deposit) = (consumer.clone(), account.deposit.clone());
        let delivered = async move {
            let handler = async |tx: &mut Transaction<'_, Postgres>| run(&deposit, tx).await;
            consumer.process(&message(), handler).await
        };
        // The classifier runs in between, and is not async.
        let handle = tokio::runtime::Handle::current();
        let processed = tokio::task::block_in_place(|| handle.block_on(delivered));
        assert!(matches!(processed, Processed::Done(1)), "{processed:?}");
        OnFailure::Keep
    };
    let failing = async |_: &mut Transaction<'_, Postgres>| Err::<u64, _>("no");
    let processed = consumer
        .process_classified(&message(), other, failing)
        .await;
    assert!(
        matches!(processed, Processed::Duplicate(1)),
        "{processed:?}"
    );
    assert_eq!(account.cents().await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_with_another_payload_is_parked_and_nothing_runs() {
    let account = Account::new().await;
    let consumer = account.consumer("deposits@1");
    let process = async |payload: &[u8]| {
        let message = Message::new("m").unwrap().payload(payload);
        consumer.process(&message, async |_| Ok::<_, ()>(1)).await
    };
    assert!(matches!(process(b"100").await, Processed::Done(1)));
    let conflict = process(b"200").await;
    assert!(matches!(conflict, Processed::Conflict), "{conflict:?}");
    assert_eq!(conflict.next(), Next::Park);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_consumers_never_suppress_each_other() {
    let account = Account::new().await;
    for scope in ["mails@1", "projection@1", "projection@2"] {
        let consumer = account.consumer(scope);
        let processed = consumer.process(&message(), async |_| Ok::<_, ()>(1)).await;
        assert!(
            matches!(processed, Processed::Done(1)),
            "{scope}: {processed:?}"
        );
    }
}

/// The transaction is aborted, and `COMMIT` of such a one answers without an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_swallows_an_error_of_the_server_is_not_done() {
    let account = Account::new().await;
    let consumer = account.consumer("deposits@1");
    let processed = consumer
        .process(&message(), async |tx| {
            run(&account.deposit, tx).await.unwrap();
            run("SELECT 1 / 0", tx).await.unwrap_err();
            Ok::<_, ()>(1)
        })
        .await;
    assert!(
        matches!(processed, Processed::Unavailable(_)),
        "{processed:?}"
    );
    let handler = async |tx: &mut Transaction<'_, Postgres>| run(&account.deposit, tx).await;
    let processed = consumer.process(&message(), handler).await;
    assert!(matches!(processed, Processed::Done(1)), "{processed:?}");
    assert_eq!(account.cents().await, 100);
}
