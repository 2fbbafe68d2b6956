//! Serving on a server that goes away and comes back.

use semel_testkit::server::Server;

use crate::support::{Semel, Shop};
use crate::test_store::{TestStore, with};

fn gateway(place: &TestStore, shop: &Shop) -> Semel {
    let url = shop.url();
    let mut args = vec!["gateway", "--upstream", &url, "--store", &place.url];
    args.extend(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    Semel::start(place.dir(), &args)
}

/// Readiness, requests and replays while a server of the store is away and when it is back.
fn tells_the_truth_about(store: &Server, place: &TestStore) {
    let shop = Shop::open();
    let mut server = gateway(place, &shop);
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(server.post("/pay", "a").status, 201);

    store.kill();
    let ready = server.get("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.body);
    assert!(
        ready.body.contains(r#""name":"store","ready":false"#),
        "{}",
        ready.body
    );
    assert_eq!(server.get("/healthz").status, 200);
    let refused = server.post("/pay", "b");
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(
        refused.body.contains("store-unavailable"),
        "{}",
        refused.body
    );
    assert_eq!(shop.effects(), 1);
    for said in [ready.body, refused.body] {
        assert!(place.is_discreet(&said), "{said}");
    }

    store.restart();
    let is_ready = |_| server.get("/readyz").status == 200;
    assert!((0..10_000).any(is_ready), "the store is never found again");
    assert!(server.post("/pay", "a").is_replay());
    assert_eq!(server.post("/pay", "b").status, 201);
    assert_eq!(shop.effects(), 2);
    server.signal("TERM");
    server.wait_for("semel ends");
    assert_eq!(server.wait(), Some(0));
    let log = server.log();
    assert!(
        log.contains("the store is not ready") && place.is_discreet(&log),
        "{log}"
    );
}

#[test]
fn a_postgres_that_goes_away_is_told_and_found_again() {
    let store = Server::start("postgres", &[]);
    let place = TestStore::at(&with(&store.url(), "timeout=2s"));
    tells_the_truth_about(&store, &place);
}

#[test]
fn a_redis_that_goes_away_is_told_and_found_again() {
    let store = Server::start("redis", &[]);
    let place = TestStore::at(&with(&store.url(), "timeout=2s"));
    tells_the_truth_about(&store, &place);
}

#[test]
fn either_half_of_a_hybrid_that_goes_away_is_told_and_found_again() {
    let claims = Server::start("redis", &[]);
    let outcomes = Server::start("postgres", &[]);
    for (number, store) in [&claims, &outcomes].into_iter().enumerate() {
        let redis = with(&claims.url(), &format!("timeout=2s&prefix=p{number}"));
        let postgres = with(&outcomes.url(), &format!("timeout=2s&schema=s{number}"));
        tells_the_truth_about(store, &TestStore::at(&format!("{redis}+{postgres}")));
    }
}
