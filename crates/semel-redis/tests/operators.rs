//! What operators see of many records.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod common;

use std::collections::BTreeSet;

use semel_core::record::UnknownCause;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, MarkRequest, Query, StateFilter, Takeover, all,
};
use semel_core::{Fence, Fingerprint, Identity, LeaseTerm, Store};

fn request(n: usize) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("acme", "payments@1", &format!("k-{n}")).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

async fn fences(store: &impl Store, state: Option<StateFilter>, limit: usize) -> Vec<Fence> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let query = Query {
            state,
            before,
            limit,
            ..Query::default()
        };
        let page = store.list(query).await.unwrap();
        found.extend(page.records.iter().map(|record| record.fence));
        before = page.next;
        if before.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn pages_show_every_record_once_and_in_order() {
    let prefix = common::Prefix::new(&common::url(common::SINGLE));
    let store = prefix.config().sweep_every(None).connect().await.unwrap();
    let mut claims = Vec::new();
    for answer in all(store.claim((0..1_000).map(request).collect()).await).unwrap() {
        let ClaimAnswer::Granted(lease) = answer else {
            panic!("a first claim is granted");
        };
        claims.push(lease.claim);
    }
    let cause = UnknownCause::RunUndecided;
    let mark = |claim: &semel_core::Claim| MarkRequest {
        claim: claim.clone(),
        cause,
        evidence: None,
    };
    let marks = claims[..600].iter().map(mark).collect();
    all(store.mark_unknown(marks).await).unwrap();
    let of = |claims: &[semel_core::Claim]| claims.iter().map(|c| c.fence).collect::<BTreeSet<_>>();
    for (state, expected) in [
        (None, of(&claims)),
        (Some(StateFilter::Unknown), of(&claims[..600])),
        (Some(StateFilter::Running), of(&claims[600..])),
    ] {
        for limit in [7, 100, 1_000] {
            let found = fences(&store, state, limit).await;
            assert!(found.is_sorted_by(|a, b| a > b), "{state:?} {limit}");
            assert_eq!(
                found.into_iter().collect::<BTreeSet<_>>(),
                expected,
                "{state:?} {limit}"
            );
        }
    }
}
