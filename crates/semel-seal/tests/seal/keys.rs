//! The life of keys: made once, rotated without a pause, forgotten on request, missing in one process.

use std::sync::Arc;
use std::time::Duration;

use semel_core::record::{Claim, EventKind};
use semel_core::store::{
    Actor, ClaimAnswer, Query, Reason, Resolution, ResolveRequest, SettleAnswer, SettleRequest,
};
use semel_core::{Kind, Once, Retention, Store, StoreExt, Tenant};
use semel_seal::{Erased, KEY_AGE_MAX, Keyring, Sealed, When};

use crate::support::{asked, keks, keyring, of, open, outcome, replayed, sealed, settle};

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_make_a_key_at_the_same_moment_have_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layers: Vec<_> = (0..8).map(|_| sealed(&store, &["a"])).collect();
    let mut settling = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        let layer = layer.clone();
        let identity = of("ann", &number.to_string());
        settling.push(tokio::spawn(async move {
            settle(&layer, &identity, outcome("sealed")).await;
        }));
    }
    for one in settling {
        one.await.unwrap();
    }
    for number in 0..8 {
        let identity = of("ann", &number.to_string());
        let found = replayed(&layers[7 - number], &identity).await;
        assert_eq!(found.unwrap(), outcome("sealed"));
    }
}

#[tokio::test]
async fn a_new_key_wraps_while_the_old_one_still_unwraps_and_then_goes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let before = sealed(&store, &["a"]);
    let identity = of("ann", "k");
    settle(&before, &identity, outcome("sealed")).await;
    settle(&before, &of("bob", "k"), outcome("sealed")).await;

    // A process with the new file reads, and one with the old file goes on.
    let ring = keyring(&store, &["b", "a"]);
    let between = Sealed::new(store.clone(), ring.clone());
    assert_eq!(
        replayed(&between, &identity).await.unwrap(),
        outcome("sealed")
    );
    settle(&between, &of("ann", "l"), outcome("sealed")).await;
    assert_eq!(
        replayed(&before, &of("ann", "l")).await.unwrap(),
        outcome("sealed")
    );

    // One step at a time, and a second time for nothing.
    let mut next = None;
    let mut wrapped = 0;
    loop {
        let step = ring.rotate(next, 1).await.unwrap();
        wrapped += step.wrapped;
        next = step.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(wrapped, 2);
    assert_eq!(ring.rotate(None, 100).await.unwrap().wrapped, 0);

    let after = sealed(&store, &["b"]);
    assert_eq!(
        replayed(&after, &identity).await.unwrap(),
        outcome("sealed")
    );
    // The old key goes at a reload.
    ring.set(keks(&["b"])).unwrap();
    assert_eq!(
        replayed(&between, &of("bob", "k")).await.unwrap(),
        outcome("sealed")
    );
}

#[tokio::test]
async fn an_erased_tenant_is_unreadable_and_its_records_go_on_suppressing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ring = keyring(&store, &["a"]);
    let layer = Sealed::new(store.clone(), ring.clone());
    let (ann, bob) = (of("ann", "k"), of("bob", "k"));
    settle(&layer, &ann, outcome("sealed")).await;
    settle(&layer, &bob, outcome("sealed")).await;
    let other = sealed(&store, &["a"]);
    assert_eq!(replayed(&other, &ann).await.unwrap(), outcome("sealed"));

    let (by, reason) = (
        Actor::new("dana").unwrap(),
        Reason::new("asked to").unwrap(),
    );
    let erased = ring
        .erase(&tenant("ann"), &by, &reason, When::Now)
        .await
        .unwrap();
    assert_eq!(
        erased,
        Erased::Forgotten {
            within: KEY_AGE_MAX
        }
    );
    let left = replayed(&layer, &ann).await.unwrap();
    assert_eq!((left.status, left.body.kept()), (201, None));
    assert_eq!(left.body.len(), 6);
    assert_eq!(replayed(&layer, &bob).await.unwrap(), outcome("sealed"));
    let line = store.audit(1).await.unwrap().remove(0);
    assert_eq!(
        (line.by.as_str(), line.reason.as_deref()),
        ("dana", Some("asked to"))
    );

    // The tenant comes again: with another key, and what was erased stays so.
    settle(&layer, &of("ann", "l"), outcome("sealed")).await;
    assert_eq!(
        replayed(&layer, &of("ann", "l")).await.unwrap(),
        outcome("sealed")
    );
    assert_eq!(replayed(&layer, &ann).await.unwrap().body.kept(), None);
    assert_eq!(
        ring.erase(&tenant("cy"), &by, &reason, When::Retired)
            .await
            .unwrap(),
        Erased::NoKey
    );
}

#[tokio::test]
async fn what_is_settled_late_brings_back_nothing_of_contents_that_were_erased() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layer = sealed(&store, &["a"]);
    let ann = of("ann", "k");
    let ClaimAnswer::Granted(lease) = layer.claim_one(asked(&ann)).await.unwrap() else {
        panic!("a new key is granted");
    };
    let bring = |body| SettleRequest {
        claim: lease.claim.clone(),
        outcome: outcome(body),
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    let settled = layer.settle_one(bring("secret")).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    let erase = ResolveRequest {
        claim: lease.claim.clone(),
        by: Actor::new("dana").unwrap(),
        reason: None,
        resolution: Resolution::EraseContents,
    };
    layer.resolve_one(erase).await.unwrap();
    // The same again, and what differs.
    for (body, expected) in [
        ("secret", SettleAnswer::Settled),
        ("another", SettleAnswer::Late),
    ] {
        let answer = layer.settle_one(bring(body)).await.unwrap();
        assert_eq!(answer, expected, "{body}");
        let left = replayed(&layer, &ann).await.unwrap();
        assert_eq!((left.status, left.body.kept()), (201, None));
    }
    let brought = layer.history(ann.clone()).await.unwrap();
    let brought = brought.iter().filter_map(|event| match &event.kind {
        EventKind::LateOutcome(outcome) => Some((outcome.body.kept(), outcome.headers.len())),
        _ => None,
    });
    assert_eq!(brought.collect::<Vec<_>>(), [(None, 0)]);
}

#[tokio::test(start_paused = true)]
async fn another_process_forgets_an_erased_key_within_its_bound() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ring = keyring(&store, &["a"]);
    let layer = Sealed::new(store.clone(), ring.clone());
    let ann = of("ann", "k");
    settle(&layer, &ann, outcome("sealed")).await;
    let other = sealed(&store, &["a"]);
    assert!(replayed(&other, &ann).await.unwrap().body.kept().is_some());
    let (by, reason) = (
        Actor::new("dana").unwrap(),
        Reason::new("asked to").unwrap(),
    );
    ring.erase(&tenant("ann"), &by, &reason, When::Now)
        .await
        .unwrap();
    tokio::time::advance(KEY_AGE_MAX).await;
    assert!(replayed(&other, &ann).await.unwrap().body.kept().is_none());
}

#[tokio::test]
async fn a_process_without_the_key_says_so_and_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ann = of("ann", "k");
    settle(&sealed(&store, &["a"]), &ann, outcome("sealed")).await;
    for (ids, missing) in [(&[] as &[&str], "encryption.keys"), (&["b"], "\"a\"")] {
        let layer = sealed(&store, ids);
        // Neither a duplicate nor a new key of the tenant: what it brought could not be sealed.
        for asked_for in [&ann, &of("ann", "new")] {
            let error = layer.claim_one(asked(asked_for)).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Unavailable);
            assert!(error.to_string().contains(missing), "{error}");
        }
        assert_eq!(store.look_up_one(of("ann", "new")).await.unwrap(), None);
        // People see all but the contents.
        let record = layer.look_up_one(ann.clone()).await.unwrap().unwrap();
        let semel_core::State::Settled(settled) = &record.state else {
            panic!("it is settled");
        };
        assert_eq!(
            (settled.outcome.status, settled.outcome.body.len()),
            (201, 6)
        );
        assert_eq!(settled.outcome.body.kept(), None);
        assert!(settled.outcome.headers.locked().is_some());
        // Callers who look are no operators.
        let once = Once::new(layer);
        let error = once.look(&ann, Duration::ZERO).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Unavailable);
    }
}

#[tokio::test]
async fn data_keys_are_no_callers_and_no_bulk_decision_meets_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layer = sealed(&store, &["a"]);
    settle(&layer, &of("ann", "k"), outcome("sealed")).await;
    let planted = semel_core::Identity::parse("bob", "semel:data-key@1", "1").unwrap();
    let error = layer.claim_one(asked(&planted)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    // Nor do operators' decisions: they would destroy what is sealed under the key.
    let raw = Query {
        scope: Some("semel:data-key@1".to_owned()),
        ..Query::default()
    };
    let keys = store.list(raw.clone()).await.unwrap().records;
    assert_eq!(keys.len(), 2, "the key and the mark of the store");
    assert!(layer.list(raw).await.unwrap().records.is_empty());
    for key in keys {
        let request = ResolveRequest {
            claim: Claim {
                identity: key.identity.clone(),
                fence: key.fence,
            },
            by: Actor::new("dana").unwrap(),
            reason: None,
            resolution: Resolution::Erase,
        };
        let error = layer.resolve_one(request).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert_eq!(layer.look_up_one(key.identity).await.unwrap(), None);
    }
    let listed = layer.list(Query::default()).await.unwrap().records;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].identity, of("ann", "k"));
    let ClaimAnswer::Granted(_) = layer.claim_one(asked(&of("ann", "m"))).await.unwrap() else {
        panic!("a new key is granted");
    };
    let empty = Keyring::new(Arc::new(semel_core::MemoryStore::new()), Vec::new()).unwrap();
    assert!(empty.rotate(None, 1).await.unwrap().wrapped == 0);
}
