use super::*;
use crate::clock::{Clock, ManualClock};
use crate::memory::MemoryStore;
use crate::outcome::Outcome;
use crate::policy::{LeaseTerm, Retention};
use crate::record::Claim;
use crate::store::{Actor, Resolution, SettleRequest, StoreExt, Takeover};

struct Fixture {
    cached: Cached,
    beneath: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
}

fn fixture(bytes_max: usize) -> Fixture {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_000_000)));
    let beneath = Arc::new(MemoryStore::with_clock(clock.clone()));
    Fixture {
        cached: Cached::new(beneath.clone(), bytes_max),
        beneath,
        clock,
    }
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("t", "s@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

impl Fixture {
    /// Settles an operation and has its duplicate answered once, which the cache sees.
    async fn settle(&self, key: &str, body: &str, keep: Duration) -> Claim {
        let granted = self.cached.claim_one(request(key)).await.unwrap();
        let ClaimAnswer::Granted(lease) = granted else {
            panic!("{granted:?}");
        };
        let settle = SettleRequest {
            claim: lease.claim.clone(),
            outcome: Outcome::succeeded(body.to_owned()),
            took: Duration::ZERO,
            retention: Retention::delete_after(keep).unwrap(),
        };
        self.cached.settle_one(settle).await.unwrap();
        let again = self.cached.claim_one(request(key)).await.unwrap();
        assert!(matches!(again, ClaimAnswer::Settled(_)));
        lease.claim
    }

    fn is_cached(&self, key: &str) -> bool {
        let request = request(key);
        let found = Store::cached(&self.cached, &request.identity, request.fingerprint);
        found.is_some()
    }
}

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn a_settled_record_is_cached_after_its_first_duplicate() {
    let fixture = fixture(1 << 20);
    assert!(!fixture.is_cached("k"));
    fixture.settle("k", "done", DAY).await;
    assert!(fixture.is_cached("k"));
}

#[tokio::test]
async fn another_fingerprint_is_never_answered_from_memory() {
    let fixture = fixture(1 << 20);
    fixture.settle("k", "done", DAY).await;
    let mut other = request("k");
    other.fingerprint = Fingerprint::of_bytes(b"other");
    assert!(Store::cached(&fixture.cached, &other.identity, other.fingerprint).is_none());
    let answer = fixture.cached.claim_one(other).await.unwrap();
    assert_eq!(answer, ClaimAnswer::Mismatch);
}

#[tokio::test]
async fn what_retention_no_longer_protects_is_not_served() {
    let fixture = fixture(1 << 20);
    fixture.settle("k", "done", Duration::from_secs(2)).await;
    fixture.clock.advance(Duration::from_secs(2));
    assert!(!fixture.is_cached("k"));
    let answer = fixture.cached.claim_one(request("k")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(_)));
}

#[tokio::test]
async fn an_operators_hand_is_seen_at_once_here_and_soon_elsewhere() {
    let fixture = fixture(1 << 20);
    let erase = |claim| ResolveRequest {
        claim,
        by: Actor::new("ada").unwrap(),
        resolution: Resolution::Erase,
        reason: None,
    };
    let here = fixture.settle("here", "done", DAY).await;
    fixture.cached.resolve_one(erase(here)).await.unwrap();
    assert!(!fixture.is_cached("here"));
    let elsewhere = fixture.settle("elsewhere", "done", DAY).await;
    fixture.beneath.resolve_one(erase(elsewhere)).await.unwrap();
    fixture.clock.advance(AGE_MAX);
    assert!(!fixture.is_cached("elsewhere"));
    let answer = fixture
        .cached
        .claim_one(request("elsewhere"))
        .await
        .unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(_)));
}

#[tokio::test]
async fn erased_contents_are_served_no_more_at_once_here_and_soon_elsewhere() {
    let fixture = fixture(1 << 20);
    let erase = |claim| ResolveRequest {
        claim,
        by: Actor::new("ada").unwrap(),
        resolution: Resolution::EraseContents,
        reason: None,
    };
    let is_erased = async |key| {
        let answer = fixture.cached.claim_one(request(key)).await.unwrap();
        match answer {
            ClaimAnswer::Settled(record) => {
                matches!(&record.state, State::Settled(settled) if settled.erased)
            }
            other => panic!("expected a replay, found {other:?}"),
        }
    };
    let here = fixture.settle("here", "done", DAY).await;
    fixture.cached.resolve_one(erase(here)).await.unwrap();
    assert!(is_erased("here").await);
    let elsewhere = fixture.settle("elsewhere", "done", DAY).await;
    fixture.beneath.resolve_one(erase(elsewhere)).await.unwrap();
    fixture.clock.advance(AGE_MAX);
    assert!(is_erased("elsewhere").await);
}

#[tokio::test]
async fn an_answer_from_before_a_decision_is_not_learned() {
    let fixture = fixture(1 << 20);
    let claim = fixture.settle("k", "done", DAY).await;
    fixture.clock.advance(AGE_MAX);
    // The store answers, but whoever asked is held up while an operator erases the record.
    let asked = (fixture.clock.now(), fixture.cached.entries().decisions);
    let answer = fixture.beneath.claim_one(request("k")).await.unwrap();
    let erase = ResolveRequest {
        claim,
        by: Actor::new("ada").unwrap(),
        resolution: Resolution::Erase,
        reason: None,
    };
    fixture.cached.resolve_one(erase).await.unwrap();
    fixture.cached.learn(&[Ok(answer)], asked);
    assert!(!fixture.is_cached("k"));
}

#[tokio::test]
async fn memory_is_bounded_and_what_is_asked_for_stays() {
    let fixture = fixture(64 * 1024);
    fixture.settle("asked", "done", DAY).await;
    for n in 0..500 {
        fixture
            .settle(&format!("k{n}"), &"x".repeat(500), DAY)
            .await;
        assert!(fixture.is_cached("asked"));
    }
    let count = |entries: MutexGuard<'_, Entries>| entries.young.len() + entries.old.len();
    assert!(count(fixture.cached.entries()) <= 64);
    assert!(!fixture.is_cached("k0"));
    fixture.settle("large", &"x".repeat(32 * 1024), DAY).await;
    assert!(
        !fixture.is_cached("large"),
        "one record must not push out all others"
    );
}
