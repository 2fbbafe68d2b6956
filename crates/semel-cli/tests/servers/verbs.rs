//! Every verb, on every kind of store that is a server.

use crate::support::{Semel, Shop};
use crate::test_store::TestStore;

/// Leaves an operation that nobody knows the outcome of, one that succeeded, and no process.
fn fill(place: &TestStore) -> Shop {
    let shop = Shop::open();
    let mut server = gateway(place, &shop);
    assert_eq!(server.post("/pay", "paid").status, 201);
    let (addr, asked) = (server.gateway, "lost");
    let client = std::thread::spawn(move || {
        crate::support::ask(addr, "POST", "/slow", &[("Idempotency-Key", asked)], "{}")
    });
    let go = shop.began();
    server.signal("KILL");
    server.wait();
    drop(go);
    assert!(client.join().unwrap().is_none());
    shop
}

fn gateway(place: &TestStore, shop: &Shop) -> Semel {
    let url = shop.url();
    let args = [
        "gateway",
        "--upstream",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--lease",
        "100ms",
        "--store",
        &place.url,
    ];
    Semel::start(place.dir(), &args)
}

/// A gateway is killed in the middle: nobody knows, a person decides, and duplicates hear of it.
fn verbs_work_on(place: &TestStore) {
    let shop = fill(place);
    let scope = ["--scope", "POST /{*rest}"];
    let lost = |verb: &[&str]| place.semel(&[&["keys"], verb, &["lost"], &scope[..]].concat());
    // The lease ends by the server's clock.
    let is_unknown = |_| lost(&["show"]).done().contains("unknown");
    assert!((0..1_000).any(is_unknown), "the lease never ends");
    let listed = place.semel(&["keys", "list"]).done();
    assert!(
        listed.contains("paid") && listed.contains("succeeded"),
        "{listed}"
    );
    let listed = place.semel(&["keys", "list", "--state", "unknown"]).done();
    assert!(
        listed.contains("lost") && !listed.contains("paid"),
        "{listed}"
    );
    let stats = place.semel(&["stats", "--json"]).done();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(
        (&stats["unknown"], &stats["settled"]),
        (&1.into(), &1.into()),
        "{stats}"
    );
    // A hint that repeats the store would repeat its password.
    let shown = lost(&["show"]);
    assert!(
        shown.stderr.contains("semel keys resolve") || shown.stdout.contains("semel keys resolve")
    );

    let resolved = [
        &["keys", "resolve", "lost"],
        &scope[..],
        &["--succeeded", "--status", "202"],
    ]
    .concat();
    place.semel(&resolved).done();
    // The key alone is enough.
    assert!(
        place
            .semel(&["keys", "show", "lost"])
            .done()
            .contains("alice")
    );
    let server = gateway(place, &shop);
    let replay = server.post("/slow", "lost");
    assert_eq!((replay.status, replay.is_replay()), (202, true));
    assert!(server.post("/pay", "paid").is_replay());
    assert_eq!(shop.effects(), 2);

    let missing = place.semel(&[&["keys", "show", "nobody"], &scope[..]].concat());
    assert_eq!(missing.code, Some(3), "{missing:?}");
    let purged = [&["keys", "purge", "paid"], &scope[..], &["--yes"]].concat();
    place.semel(&purged).done();
    let gone = place.semel(&[&["keys", "show", "paid"], &scope[..]].concat());
    assert_eq!(gone.code, Some(3), "{gone:?}");
    let audit = place.semel(&["audit"]).done();
    assert!(
        audit.contains("keys resolve") && audit.contains("keys purge"),
        "{audit}"
    );
}

#[test]
fn verbs_work_on_postgres() {
    verbs_work_on(&TestStore::postgres());
}

#[test]
fn verbs_work_on_redis() {
    verbs_work_on(&TestStore::redis());
}

#[test]
fn verbs_work_on_redis_and_a_file() {
    verbs_work_on(&TestStore::redis_and_file());
}

#[test]
fn verbs_work_on_redis_and_postgres() {
    verbs_work_on(&TestStore::redis_and_postgres());
}

#[test]
fn verbs_work_on_a_redis_cluster() {
    verbs_work_on(&TestStore::redis_cluster());
}

#[test]
fn nothing_is_created_by_looking() {
    let place = TestStore::postgres();
    for verb in [&["keys", "list"][..], &["stats"], &["check"]] {
        let ran = place.semel(verb);
        assert_eq!(ran.code, Some(78), "{ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("there is no store in this database yet"),
            "{said}"
        );
    }
}
