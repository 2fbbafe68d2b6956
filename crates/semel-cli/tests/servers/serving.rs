//! Serving on a server that goes away and comes back.

use semel_testkit::server::Server;

use crate::support::{Answer, Semel, Shop};
use crate::test_store::{TestStore, with};

fn gateway(place: &TestStore, shop: &Shop) -> Semel {
    let url = shop.url();
    let mut args = vec!["gateway", "--upstream", &url, "--store", &place.url];
    args.extend(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    Semel::start(place.dir(), &args)
}

/// Readiness as soon as it has this status: the store is asked on a timer.
fn readiness(server: &Semel, status: u16) -> Answer {
    readiness_as(server, &status.to_string(), |ready| ready.status == status)
}

/// The same as soon as it is as wanted.
fn readiness_as(server: &Semel, wanted: &str, is: impl Fn(&Answer) -> bool) -> Answer {
    let mut asked = (0..3_000).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        server.get("/readyz")
    });
    let found = asked.find(is);
    found.unwrap_or_else(|| panic!("readiness is never {wanted}"))
}

/// Readiness, requests and replays while a server of the store is away and when it is back.
fn tells_the_truth_about(store: &Server, place: &TestStore) {
    let shop = Shop::open();
    let mut server = gateway(place, &shop);
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(server.post("/pay", "a").status, 201);

    store.kill();
    let ready = readiness(&server, 503);
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
    readiness(&server, 200);
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

#[test]
fn the_sweep_of_a_half_that_is_away_is_named_though_the_other_half_is_swept() {
    let claims = Server::start("redis", &[]);
    let mut place = TestStore::at(&with(&claims.url(), "timeout=1s"));
    place.url += "+sqlite:semel.db";
    let shop = Shop::open();
    let server = gateway(&place, &shop);
    let fails = "claims: the last";
    assert!(!server.get("/readyz").body.contains(fails));
    claims.kill();
    readiness_as(&server, fails, |ready| ready.body.contains(fails));
    claims.restart();
    readiness_as(&server, "well again", |ready| !ready.body.contains(fails));
}
