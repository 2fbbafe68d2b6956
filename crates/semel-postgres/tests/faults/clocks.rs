//! Clients whose clocks are wrong: only the server's counts.
//!
//! The server is given a clock that is hours away from that of this process; which of the two is
//! wrong makes no difference to either.

use std::time::Duration;

use semel_core::store::{ClaimAnswer, RenewAnswer, RenewRequest, SettleAnswer};
use semel_core::{LeaseTerm, State, Store, StoreExt};

use crate::support::verbs::{granted, identity, request, settle, short};
use crate::support::{Schema, client, url};

const HOUR_MS: i64 = 3_600_000;

/// A database whose `clock_timestamp()` is the system's plus an offset that the test sets.
struct Skewed {
    name: String,
    url: String,
    admin: tokio_postgres::Client,
}

impl Skewed {
    async fn new() -> Self {
        let seed = semel_testkit::random::fresh_seed();
        let (name, admin) = (format!("skewed_{seed:016x}"), client(&url()).await);
        admin
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        let (base, _) = url()
            .rsplit_once('/')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        let url = format!("{base}/{name}");
        // Whoever names no schema finds this function before the system's.
        client(&url)
            .await
            .batch_execute(&format!(
                "CREATE SCHEMA skew; CREATE TABLE skew.offset_ms (ms bigint); INSERT INTO skew.offset_ms VALUES (0); \
                 CREATE FUNCTION skew.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS \
                 'SELECT pg_catalog.clock_timestamp() + ms * interval ''1 millisecond'' FROM skew.offset_ms'; \
                 ALTER DATABASE {name} SET search_path = skew, pg_catalog"
            ))
            .await
            .unwrap();
        Self { name, url, admin }
    }

    async fn set(&self, offset_ms: i64) {
        let set = format!("UPDATE skew.offset_ms SET ms = {offset_ms}");
        client(&self.url).await.batch_execute(&set).await.unwrap();
    }

    async fn end(self, schema: Schema) {
        drop(schema);
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        self.admin.batch_execute(&drop).await.unwrap();
    }
}

async fn real_ms() -> i64 {
    let ask = "SELECT floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint";
    client(&url())
        .await
        .query_one(ask, &[])
        .await
        .unwrap()
        .get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_instant_is_the_servers() {
    let skewed = Skewed::new().await;
    skewed.set(5 * HOUR_MS).await;
    let schema = Schema::at(skewed.url.clone());
    let store = schema.open().await;
    let before = real_ms().await;
    let lease = granted(&store, "k").await;
    let settled = granted(&store, "s").await;
    store
        .settle_one(settle(&settled.claim, "done"))
        .await
        .unwrap();
    let after = real_ms().await;
    let ours = |ms: i64| (before..=after).contains(&(ms - 5 * HOUR_MS));
    let record = store.look_up_one(identity("k")).await.unwrap().unwrap();
    assert!(ours(record.claimed_at.as_millis()));
    assert!(ours(lease.until.as_millis() - 30_000));
    let record = store.look_up_one(identity("s")).await.unwrap().unwrap();
    let State::Settled(outcome) = &record.state else {
        panic!("expected an outcome");
    };
    assert!(ours(outcome.at.as_millis()));
    // A read cache in front of the store goes by the same clock.
    assert!(store.now().as_millis() >= before + 5 * HOUR_MS);
    assert!(ours(
        store
            .ask_time()
            .await
            .unwrap()
            .as_millis()
            .min(after + 5 * HOUR_MS)
    ));
    drop(store);
    skewed.end(schema).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_agree_on_a_lease_while_the_clock_steps() {
    let skewed = Skewed::new().await;
    let schema = Schema::at(skewed.url.clone());
    let (one, two) = (schema.open().await, schema.open().await);
    let lease = granted(&one, "k").await;
    let renew = || RenewRequest {
        claim: lease.claim.clone(),
        lease: LeaseTerm::new(Duration::from_secs(30)).unwrap(),
    };
    // An hour back: the lease is as alive as before, to both.
    skewed.set(-HOUR_MS).await;
    let answer = two.claim_one(request("k")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }), "{answer:?}");
    assert!(matches!(
        one.renew_one(renew()).await.unwrap(),
        RenewAnswer::Renewed(_)
    ));
    // An hour forward: it has ended, to both, and a step back does not revive it.
    skewed.set(HOUR_MS).await;
    let answer = two.claim_one(request("k")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }), "{answer:?}");
    skewed.set(0).await;
    assert_eq!(one.renew_one(renew()).await.unwrap(), RenewAnswer::Lost);
    let late = one.settle_one(settle(&lease.claim, "late")).await.unwrap();
    assert_eq!(late, SettleAnswer::Late);
    // A claim under the same wrong clock is whole again.
    let next = one.claim_one(short("other", 30_000)).await.unwrap();
    assert!(matches!(next, ClaimAnswer::Granted(_)));
    drop((one, two));
    skewed.end(schema).await;
}
