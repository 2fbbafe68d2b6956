use std::sync::Arc;
use std::time::Duration;

use semel_core::record::UnknownCause;
use semel_core::store::{ClaimAnswer, ClaimRequest, MarkRequest};
use semel_core::{
    About, Fingerprint, Identity, ManualClock, MemoryStore, Outcome, Retention, StoreExt,
};

use super::*;

struct World {
    clock: Arc<ManualClock>,
    store: MemoryStore,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_000_000)));
        let store = MemoryStore::with_clock(clock.clone());
        Self { clock, store }
    }

    /// An unknown record, a second after the one before.
    async fn unknown(&self, tenant: &str, key: &str, about: &str) {
        self.clock.advance(Duration::from_secs(1));
        let identity = Identity::parse(tenant, "payments@1", key).unwrap();
        let request = ClaimRequest {
            about: About::new(about),
            ..ClaimRequest::new(identity, Fingerprint::none())
        };
        let ClaimAnswer::Granted(lease) = self.store.claim_one(request).await.unwrap() else {
            panic!("a first claim is granted");
        };
        let mark = MarkRequest {
            claim: lease.claim,
            cause: UnknownCause::RunUndecided,
            evidence: None,
        };
        self.store.mark_one(mark).await.unwrap();
    }

    fn all(&self) -> Selection {
        Selection {
            state: StateFilter::Unknown,
            tenant: None,
            scope: None,
            key: None,
            method: None,
            until: self.store.now(),
        }
    }
}

fn release() -> Decision {
    Decision {
        by: Actor::new("ann").unwrap(),
        reason: Some(Reason::new("INC-7").unwrap()),
        resolution: Resolution::Release,
    }
}

#[tokio::test]
async fn what_is_meant_is_decided_and_the_rest_is_left_alone() {
    let world = World::new();
    world.unknown("acme", "a", "POST /payments").await;
    world.unknown("acme", "b", "PATCH /payments/1").await;
    world.unknown("globex", "c", "POST /payments").await;
    let posts = Selection {
        method: Some("post".parse().unwrap()),
        tenant: Some("acme".parse().unwrap()),
        ..world.all()
    };
    let seen = look(&world.store, &posts, None).await.unwrap();
    assert_eq!((seen.matched, seen.changed), (1, 0));
    let done = decide(&world.store, &posts, &release(), None)
        .await
        .unwrap();
    assert_eq!((done.matched, done.changed, done.refused), (1, 1, 0));
    let left = look(&world.store, &world.all(), None).await.unwrap();
    let keys: Vec<_> = left
        .sample
        .iter()
        .map(|r| r.identity.key().as_str())
        .collect();
    assert_eq!(keys, ["c", "b"]);
    let lines = world.store.audit(10).await.unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].reason.as_deref(), Some("INC-7"));
}

#[tokio::test]
async fn what_became_unknown_after_the_dry_run_is_not_decided() {
    let world = World::new();
    world.unknown("acme", "seen", "POST /payments").await;
    let shown = world.all();
    world.unknown("acme", "later", "POST /payments").await;
    let done = decide(&world.store, &shown, &release(), None)
        .await
        .unwrap();
    assert_eq!((done.matched, done.changed), (1, 1));
    assert_eq!(done.sample[0].identity.key().as_str(), "seen");
}

#[tokio::test]
async fn a_call_decides_about_a_thousand_and_says_where_the_next_goes_on() {
    let world = World::new();
    for n in 0..DECIDED_MAX + 5 {
        world.unknown("acme", &format!("k-{n}"), "POST /pay").await;
    }
    let all = world.all();
    let mut done = decide(&world.store, &all, &release(), None).await.unwrap();
    assert_eq!(done.changed, DECIDED_MAX as u64);
    assert_eq!(done.sample.len(), SAMPLE_MAX);
    let next = done.next.take().expect("five are left");
    done.add(
        decide(&world.store, &all, &release(), Some(next))
            .await
            .unwrap(),
    );
    assert_eq!((done.changed, done.refused), (DECIDED_MAX as u64 + 5, 0));
    assert!(done.next.is_none());
}

#[tokio::test]
async fn many_records_get_no_large_body() {
    let world = World::new();
    let body = vec![b'x'; usize::try_from(BODY_BYTES_MAX).unwrap() + 1];
    let large = Decision {
        resolution: Resolution::Settle {
            outcome: Outcome::succeeded(body),
            retention: Retention::default(),
        },
        ..release()
    };
    let refused = decide(&world.store, &world.all(), &large, None).await;
    assert!(refused.unwrap_err().to_string().contains("at most 65536"));
}

#[test]
fn a_method_is_read_in_any_case() {
    assert_eq!("post".parse::<Method>().unwrap().to_string(), "POST");
    for wrong in ["", "PO ST", "P0ST", &"X".repeat(33)] {
        assert!(wrong.parse::<Method>().is_err(), "{wrong}");
    }
}
