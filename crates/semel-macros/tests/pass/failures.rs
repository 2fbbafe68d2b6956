//! Errors of the body, and what they mean for the record.

use semel::once::{Error, Recorded, Refusal};
use semel::{OnFailure, Once, idempotent};

use crate::{Declined, Effects, once};

fn meaning(error: &Declined) -> OnFailure {
    match error {
        Declined::Funds => OnFailure::Keep,
        Declined::Busy => OnFailure::Release,
        Declined::TimedOut => OnFailure::Unknown,
    }
}

#[idempotent(scope = "charge@1", key = "{order}", on_error = meaning, skip(effects, fails))]
async fn charge(
    once: &Once,
    effects: Effects,
    order: u64,
    fails: Option<Declined>,
) -> Result<u32, Declined> {
    let happened = effects.happen();
    if let Some(error) = fails {
        return Err(error);
    }
    let _ = order;
    Ok(happened)
}

#[tokio::test]
async fn a_kept_error_is_replayed() {
    let (once, effects) = (once(), Effects::default());
    for expected in [false, true] {
        let answer = charge(&once, effects.clone(), 1, Some(Declined::Funds)).await;
        let Err(Error::Failed {
            error,
            replayed,
            recorded,
        }) = answer
        else {
            panic!("expected a failure, found {answer:?}");
        };
        assert_eq!((error, replayed), (Declined::Funds, expected));
        assert_eq!(recorded, Recorded::Settled);
    }
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn a_releasing_error_lets_the_next_call_run() {
    let (once, effects) = (once(), Effects::default());
    let failed = charge(&once, effects.clone(), 1, Some(Declined::Busy)).await;
    assert!(matches!(
        failed,
        Err(Error::Failed {
            recorded: Recorded::Released,
            ..
        })
    ));
    let answer = charge(&once, effects.clone(), 1, None).await.unwrap();
    assert_eq!((answer.value, answer.replayed), (2, false));
}

#[tokio::test]
async fn an_undecided_error_holds_the_operation() {
    let (once, effects) = (once(), Effects::default());
    let failed = charge(&once, effects.clone(), 1, Some(Declined::TimedOut)).await;
    assert!(matches!(
        failed,
        Err(Error::Failed {
            recorded: Recorded::Unknown,
            ..
        })
    ));
    let held = charge(&once, effects.clone(), 1, None).await;
    assert!(matches!(held, Err(Error::Refused(Refusal::Unknown { .. }))));
    assert_eq!(effects.count(), 1);
}

#[idempotent(scope = "panics@1", key = "{order}")]
async fn panics(once: &Once, order: u64) -> Result<u32, Declined> {
    panic!("order {order} is cursed")
}

#[tokio::test]
async fn a_panic_of_the_body_is_a_refusal() {
    let answer = panics(&once(), 1).await;
    assert!(matches!(answer, Err(Error::Refused(Refusal::Panicked))));
}

struct Inner;

impl From<Inner> for Declined {
    fn from(Inner: Inner) -> Self {
        Self::Funds
    }
}

#[idempotent(scope = "convert@1", key = "{order}")]
async fn converts(once: &Once, order: u64) -> Result<(), Declined> {
    async fn fails(_: u64) -> Result<(), Inner> {
        Err(Inner)
    }
    fails(order).await?;
    Ok(())
}

#[tokio::test]
async fn the_question_mark_converts_errors_as_in_any_function() {
    let answer = converts(&once(), 1).await;
    assert!(matches!(
        answer,
        Err(Error::Failed {
            error: Declined::Funds,
            ..
        })
    ));
}
