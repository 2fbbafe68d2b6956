//! What the file itself holds once contents are erased.

use semel_core::store::{Actor, Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{About, Claim};

use super::*;

/// Nothing else in a file looks like this.
const SECRET: &[u8] = b"born-in-1815-in-London";

fn count(dir: &TempDir) -> usize {
    let bytes = fs::read(dir.path().join("semel.db")).unwrap();
    bytes
        .windows(SECRET.len())
        .filter(|window| *window == SECRET)
        .count()
}

/// A body on pages of its own, and one in the middle of a page, both with the secret in them, and in what was asked.
async fn with_secrets(store: &SqliteStore) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (key, len) in [("small", 100), ("large", 40_000)] {
        let about = About::new(&format!("GET /{}", String::from_utf8_lossy(SECRET)));
        let claim = ClaimRequest {
            about,
            ..request(key)
        };
        let ClaimAnswer::Granted(lease) = store.claim_one(claim).await.unwrap() else {
            panic!("expected a grant of {key}");
        };
        let body: Vec<u8> = SECRET.iter().copied().cycle().take(len).collect();
        let settle = SettleRequest {
            claim: lease.claim.clone(),
            outcome: Outcome::succeeded(body),
            took: Duration::ZERO,
            retention: Retention::default(),
        };
        store.settle_one(settle).await.unwrap();
        claims.push(lease.claim);
    }
    claims
}

#[tokio::test]
async fn erased_contents_are_not_in_the_file_after_a_checkpoint() {
    let dir = dir();
    let claims = with_secrets(&open(&dir)).await;
    // Closing it is a checkpoint.
    assert!(count(&dir) > 1_000);
    let store = open(&dir);
    for claim in claims {
        let request = ResolveRequest {
            claim,
            by: Actor::new("ada").unwrap(),
            reason: None,
            resolution: Resolution::EraseContents,
        };
        let erased = store.resolve_one(request).await.unwrap();
        assert_eq!(erased, ResolveAnswer::Resolved);
    }
    drop(store);
    assert_eq!(count(&dir), 0);
    assert!(!dir.path().join("semel.db-wal").exists());
}
