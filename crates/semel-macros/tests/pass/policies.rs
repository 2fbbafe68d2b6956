//! Options that change the policy of one operation.

use std::sync::Arc;
use std::time::Duration;

use semel::once::{Error, Recorded, Refusal};
use semel::{
    Identity, InProgress, LeaseTerm, MemoryStore, OnFailure, Once, Policy, Retention, State,
    StoreExt, idempotent,
};
use tokio::sync::Notify;

use crate::{Declined, Effects, once};

#[idempotent(scope = "kept@1", key = "{n}", ttl = "7d", archive)]
async fn archived(once: &Once, n: u8) -> Result<u8, Declined> {
    Ok(n)
}

#[idempotent(scope = "kept@1", key = "{n}", archive)]
async fn archived_by_policy(once: &Once, n: u8) -> Result<u8, Declined> {
    Ok(n)
}

#[idempotent(scope = "kept@1", key = "{n}", ttl = "500ms")]
async fn briefly(once: &Once, n: u8) -> Result<u8, Declined> {
    Ok(n)
}

#[tokio::test]
async fn ttl_and_archive_set_the_retention() {
    let hour = Duration::from_secs(3_600);
    let once = once().with_policy(Policy {
        retention: Retention::delete_after(hour).unwrap(),
        ..Policy::default()
    });
    archived(&once, 1).await.unwrap();
    archived_by_policy(&once, 2).await.unwrap();
    briefly(&once, 3).await.unwrap();
    for (key, archive, keep) in [
        ("1", true, Duration::from_secs(7 * 86_400)),
        ("2", true, hour),
        ("3", false, Duration::from_millis(500)),
    ] {
        let identity = Identity::parse("public", "kept@1", key).unwrap();
        let record = once.store().look_up_one(identity).await.unwrap().unwrap();
        let State::Settled(settled) = &record.state else {
            panic!("expected a settled record, found {record:?}");
        };
        assert_eq!(settled.archive, archive, "{key}");
        assert_eq!(settled.expires_at.since(settled.at), keep, "{key}");
    }
}

#[idempotent(scope = "secret@1", key = "{n}", store_result = false)]
async fn secret(once: &Once, effects: Effects, n: u8) -> Result<u8, Declined> {
    effects.happen();
    Ok(n)
}

#[tokio::test]
async fn a_result_that_is_not_stored_is_not_replayed_and_not_run_again() {
    let (once, effects) = (once(), Effects::default());
    assert_eq!(secret(&once, effects.clone(), 1).await.unwrap().value, 1);
    let again = secret(&once, effects.clone(), 1).await;
    assert!(matches!(again, Err(Error::NotKept { .. })), "{again:?}");
    assert_eq!(effects.count(), 1);
}

#[idempotent(
    scope = "slow@1",
    key = "{n}",
    wait = "0s",
    lease = "5m",
    skip(begun, end),
    run = running
)]
async fn slow(once: &Once, n: u8, begun: Arc<Notify>, end: Arc<Notify>) -> Result<u64, Declined> {
    begun.notify_one();
    end.notified().await;
    assert_eq!(running.claim().identity.scope().name(), "slow");
    let _ = n;
    Ok(running.fence().get())
}

#[tokio::test]
async fn wait_of_nothing_refuses_at_once_and_lease_sets_the_term() {
    let store = Arc::new(MemoryStore::new());
    let once = Once::on(store.clone());
    let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let first = tokio::spawn({
        let (once, begun, end) = (once.clone(), begun.clone(), end.clone());
        async move { slow(&once, 1, begun, end).await }
    });
    begun.notified().await;

    let duplicate = slow(&once, 1, begun, end.clone()).await;
    let Err(Error::Refused(Refusal::InProgress { .. })) = duplicate else {
        panic!("expected a refusal, found {duplicate:?}");
    };
    let identity = Identity::parse("public", "slow@1", "1").unwrap();
    let record = store.look_up_one(identity).await.unwrap().unwrap();
    let State::Running { lease_until } = record.state else {
        panic!("expected a running record, found {record:?}");
    };
    assert_eq!(
        lease_until.since(record.claimed_at),
        Duration::from_secs(300)
    );

    end.notify_one();
    assert_eq!(first.await.unwrap().unwrap().fence.get(), 1);
}

#[idempotent(
    scope = "unsure@1",
    key = "{n}",
    unknown = "rerun",
    on_error = |_| OnFailure::Unknown,
    skip(effects)
)]
async fn unsure(once: &Once, effects: Effects, n: u8) -> Result<u8, Declined> {
    match effects.happen() {
        1 => Err(Declined::TimedOut),
        _ => Ok(n),
    }
}

#[tokio::test]
async fn unknown_rerun_runs_again() {
    let (once, effects) = (once(), Effects::default());
    let first = unsure(&once, effects.clone(), 1).await;
    assert!(matches!(
        first,
        Err(Error::Failed {
            recorded: Recorded::Unknown,
            ..
        })
    ));
    let second = unsure(&once, effects.clone(), 1).await.unwrap();
    assert_eq!(
        (second.value, second.attempt, second.replayed),
        (1, 2, false)
    );
}

#[idempotent(scope = "plain@1", key = "{n}")]
async fn plain(once: &Once, n: u8) -> Result<(bool, bool), Declined> {
    let policy = once.policy();
    let _ = n;
    Ok((
        policy.in_progress == InProgress::Refuse,
        policy.lease.get() == Duration::from_secs(7),
    ))
}

#[tokio::test]
async fn without_options_the_policy_of_the_once_holds() {
    let once = once().with_policy(Policy {
        in_progress: InProgress::Refuse,
        lease: LeaseTerm::new(Duration::from_secs(7)).unwrap(),
        ..Policy::default()
    });
    assert_eq!(plain(&once, 1).await.unwrap().value, (true, true));
}
