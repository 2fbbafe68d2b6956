//! Which calls are the same operation.

use semel::once::{Error, Refusal};
use semel::{Identity, Kind, Once, StoreExt, idempotent};

use crate::{Declined, Effects, once};

#[idempotent(scope = "payments@1", key = "{order_id}#{line}")]
async fn by_template(
    once: &Once,
    effects: Effects,
    order_id: String,
    line: u32,
) -> Result<u32, Declined> {
    let _ = (order_id, line);
    Ok(effects.happen())
}

#[tokio::test]
async fn a_second_call_with_one_key_replays_the_first() {
    let (once, effects) = (once(), Effects::default());
    let call = || by_template(&once, effects.clone(), "a".into(), 1);
    let (first, again) = (call().await.unwrap(), call().await.unwrap());
    assert_eq!((first.value, first.replayed), (1, false));
    assert_eq!((again.value, again.replayed), (1, true));
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn a_template_puts_arguments_into_the_key() {
    let (once, effects) = (once(), Effects::default());
    by_template(&once, effects.clone(), "a".into(), 2)
        .await
        .unwrap();
    let identity = Identity::parse("public", "payments@1", "a#2").unwrap();
    let record = once.store().look_up_one(identity).await.unwrap();
    assert!(record.is_some());
}

#[derive(serde::Serialize)]
struct Order {
    id: u64,
    cents: u64,
}

#[idempotent(scope = "orders@3", key = order.id + 1_000)]
async fn by_expression(once: &Once, effects: Effects, order: Order) -> Result<u64, Declined> {
    effects.happen();
    Ok(order.cents)
}

#[tokio::test]
async fn an_expression_is_a_key_by_its_text() {
    let (once, effects) = (once(), Effects::default());
    for _ in 0..2 {
        let order = Order { id: 7, cents: 50 };
        let answer = by_expression(&once, effects.clone(), order).await.unwrap();
        assert_eq!(answer.value, 50);
    }
    assert_eq!(effects.count(), 1);
    let identity = Identity::parse("public", "orders@3", "1007").unwrap();
    assert!(once.store().look_up_one(identity).await.unwrap().is_some());
}

#[idempotent(scope = "reports@1")]
async fn by_arguments(once: &Once, effects: Effects, day: String) -> Result<u32, Declined> {
    let _ = day;
    Ok(effects.happen())
}

#[tokio::test]
async fn without_a_key_equal_arguments_are_one_operation() {
    let (once, effects) = (once(), Effects::default());
    for (day, value) in [("mon", 1), ("tue", 2), ("mon", 1)] {
        let answer = by_arguments(&once, effects.clone(), day.into())
            .await
            .unwrap();
        assert_eq!(answer.value, value, "{day}");
    }
}

#[idempotent(scope = "reports@2")]
async fn of_another_version(once: &Once, effects: Effects, day: String) -> Result<u32, Declined> {
    let _ = day;
    Ok(effects.happen())
}

#[tokio::test]
async fn a_new_version_of_the_scope_is_a_new_operation() {
    let (once, effects) = (once(), Effects::default());
    by_arguments(&once, effects.clone(), "mon".into())
        .await
        .unwrap();
    of_another_version(&once, effects.clone(), "mon".into())
        .await
        .unwrap();
    assert_eq!(effects.count(), 2);
}

#[idempotent(scope = "mail@1", key = "{mail}", tenant = "tenant-{account}")]
async fn of_tenant(
    once: &Once,
    effects: Effects,
    account: u32,
    mail: String,
) -> Result<u32, Declined> {
    let _ = (account, mail);
    Ok(effects.happen())
}

#[idempotent(scope = "mail@1", key = "{mail}", tenant = account, skip(account))]
async fn of_given_tenant(
    once: &Once,
    effects: Effects,
    account: &'static str,
    mail: String,
) -> Result<u32, Declined> {
    let _ = (account, mail);
    Ok(effects.happen())
}

#[tokio::test]
async fn tenants_do_not_share_operations() {
    let (once, effects) = (once(), Effects::default());
    for account in [1, 2, 1] {
        of_tenant(&once, effects.clone(), account, "m".into())
            .await
            .unwrap();
    }
    assert_eq!(effects.count(), 2);
    let identity = Identity::parse("tenant-2", "mail@1", "m").unwrap();
    assert!(once.store().look_up_one(identity).await.unwrap().is_some());

    of_given_tenant(&once, effects.clone(), "acme", "m".into())
        .await
        .unwrap();
    let identity = Identity::parse("acme", "mail@1", "m").unwrap();
    assert!(once.store().look_up_one(identity).await.unwrap().is_some());
}

#[tokio::test]
async fn a_bad_key_or_tenant_is_an_error_and_nothing_runs() {
    let (once, effects) = (once(), Effects::default());
    let refused = [
        by_template(&once, effects.clone(), "k".repeat(300), 1).await,
        by_template(&once, effects.clone(), "line\nbreak".into(), 1).await,
        of_given_tenant(&once, effects.clone(), "", "m".into()).await,
        of_tenant(&once, effects.clone(), 1, String::new()).await,
    ];
    for answer in refused {
        let Err(Error::Refused(Refusal::Invalid(error))) = answer else {
            panic!("expected a refusal, found {answer:?}");
        };
        assert_eq!(error.kind(), Kind::Invalid);
    }
    assert_eq!(effects.count(), 0);
}
