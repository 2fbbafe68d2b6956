//! What is asked, and what does not count.

use std::collections::HashMap;

use semel::once::{Error, Refusal};
use semel::{Fingerprint, Identity, Kind, Once, StoreExt, fingerprint, idempotent};

use crate::{Declined, Effects, once};

#[idempotent(scope = "payments@1", key = "{order}", skip(effects, trace))]
async fn pay(
    once: &Once,
    effects: Effects,
    order: String,
    cents: u64,
    trace: fn() -> u32,
) -> Result<u64, Declined> {
    effects.happen();
    Ok(cents + u64::from(trace()) + order.len() as u64)
}

fn zero() -> u32 {
    0
}

#[tokio::test]
async fn one_key_with_other_arguments_is_refused() {
    let (once, effects) = (once(), Effects::default());
    pay(&once, effects.clone(), "a".into(), 1, zero)
        .await
        .unwrap();
    let other = pay(&once, effects.clone(), "a".into(), 2, zero).await;
    assert!(matches!(other, Err(Error::Refused(Refusal::KeyReused))));
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn skipped_arguments_do_not_count_and_need_no_json() {
    let (once, effects) = (once(), Effects::default());
    pay(&once, effects.clone(), "a".into(), 1, zero)
        .await
        .unwrap();
    let again = pay(&once, effects.clone(), "a".into(), 1, || 9).await;
    assert!(again.unwrap().replayed);
}

#[tokio::test]
async fn the_fingerprint_is_of_the_arguments_by_name_whatever_their_order() {
    let (once, effects) = (once(), Effects::default());
    pay(&once, effects, "a".into(), 7, zero).await.unwrap();
    let identity = Identity::parse("public", "payments@1", "a").unwrap();
    let record = once.store().look_up_one(identity).await.unwrap().unwrap();
    let expected = fingerprint::Builder::default()
        .part("cents", Fingerprint::of(&7).unwrap().as_bytes())
        .part("order", Fingerprint::of("a").unwrap().as_bytes())
        .finish();
    assert_eq!(record.fingerprint, expected);
}

#[idempotent(scope = "ping@1", key = "{host}", fingerprint = "off")]
async fn ping(once: &Once, host: String, note: String) -> Result<String, Declined> {
    let _ = host;
    Ok(note)
}

#[tokio::test]
async fn without_a_fingerprint_the_key_says_everything() {
    let once = once();
    ping(&once, "h".into(), "first".into()).await.unwrap();
    let again = ping(&once, "h".into(), "second".into()).await.unwrap();
    assert_eq!((again.value.as_str(), again.replayed), ("first", true));
}

#[idempotent(
    scope = "upload@1",
    key = "{name}",
    fingerprint = Fingerprint::of(&(name.as_str(), bytes.len()))?
)]
async fn upload(once: &Once, name: String, bytes: Vec<u8>) -> Result<usize, Declined> {
    let _ = name;
    Ok(bytes.len())
}

#[tokio::test]
async fn a_given_fingerprint_is_used_as_it_is() {
    let once = once();
    upload(&once, "f".into(), vec![1, 2]).await.unwrap();
    assert!(
        upload(&once, "f".into(), vec![3, 4])
            .await
            .unwrap()
            .replayed
    );
    let other = upload(&once, "f".into(), vec![1]).await;
    assert!(matches!(other, Err(Error::Refused(Refusal::KeyReused))));
}

#[idempotent(scope = "index@1", key = "fixed-{shard}")]
async fn index(
    once: &Once,
    effects: Effects,
    shard: u8,
    words: HashMap<(u8, u8), String>,
) -> Result<usize, Declined> {
    let _ = shard;
    effects.happen();
    Ok(words.len())
}

#[tokio::test]
async fn an_argument_without_a_json_form_is_an_error_and_nothing_runs() {
    let (once, effects) = (once(), Effects::default());
    let words = HashMap::from([((1, 2), "word".to_owned())]);
    let answer = index(&once, effects.clone(), 1, words).await;
    let Err(Error::Refused(Refusal::Invalid(error))) = answer else {
        panic!("expected a refusal, found {answer:?}");
    };
    assert_eq!((error.kind(), effects.count()), (Kind::Invalid, 0));
}
