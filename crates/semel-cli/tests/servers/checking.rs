//! What `semel check` says about servers.

use insta::assert_snapshot;

use crate::support::{Semel, Shop};
use crate::test_store::{TestStore, with};

/// Has a gateway make the store.
fn make(place: &TestStore) {
    let shop = Shop::open();
    let url = shop.url();
    let mut args = vec!["gateway", "--upstream", &url, "--store", &place.url];
    args.extend(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    let mut server = Semel::start(place.dir(), &args);
    assert_eq!(server.post("/pay", "a").status, 201);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}

/// The lines of a check, with what differs from server to server replaced.
fn checked(place: &TestStore, words: &[&str]) -> String {
    let stdout = place.semel(words).done();
    let lines = stdout.lines().map(|line| match line {
        line if line.starts_with("✓ url") => "✓ url     <url>",
        line if line.starts_with("✓ clock")
            && line.ends_with("Z; PostgreSQL is at the same time") =>
        {
            "✓ clock   <time>; PostgreSQL is at the same time"
        }
        line if line.starts_with("· server  PostgreSQL 1") => "· server  PostgreSQL <version>",
        line => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_postgres_is_judged() {
    let place = TestStore::postgres();
    make(&place);
    let found = checked(&place, &["check"]);
    assert!(found.contains("· server  PostgreSQL <version>"), "{found}");
    assert!(found.contains("of the server's "), "{found}");
    let sure: Vec<_> = found
        .lines()
        .filter(|line| !line.starts_with('·'))
        .collect();
    assert_snapshot!(sure.join("\n"), @r"
    ✓ url     <url>
    ✓ open    the schema is one that this semel knows
    ✓ read    0 running, 0 unknown, 1 settled
    ✓ write   a write went through and changed nothing
    ✓ clock   <time>; PostgreSQL is at the same time
    ");
}

#[test]
fn a_redis_is_judged() {
    let place = TestStore::redis();
    make(&place);
    let found = checked(&place, &["check"]);
    assert!(
        found
            .lines()
            .any(|line| line.starts_with("· server  Redis ")),
        "{found}"
    );
    assert!(
        found.contains("✓ read    0 running, 0 unknown, 1 settled"),
        "{found}"
    );
}

#[test]
fn a_hybrid_is_judged_in_both_of_its_halves() {
    let place = TestStore::redis_and_file();
    make(&place);
    let found = checked(&place, &["check"]);
    for line in [
        "✓ sqlite  ",
        "✓ file    semel.db",
        "· server  Redis ",
        "✓ clock   2",
        "✓ read    0 running, 0 unknown, 1 settled",
    ] {
        assert!(
            found.lines().any(|found| found.starts_with(line)),
            "{line} is not in {found}"
        );
    }
}

#[test]
fn a_server_that_takes_no_writes_is_not_fit() {
    let place = TestStore::postgres();
    make(&place);
    let url = with(
        &place.url,
        "options=-c%20default_transaction_read_only%3Don",
    );
    let read_only = TestStore::at(&url);
    assert!(read_only.semel(&["stats"]).done().contains("settled"));
    let ran = read_only.semel(&["check"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(
        ran.stdout
            .contains("✗ server  postgres, a server that takes writes was expected"),
        "{ran:?}"
    );
}

#[test]
fn a_file_that_names_a_server_is_explained_and_may_be_ahead_of_its_tables() {
    let place = TestStore::postgres();
    let path = place.dir().join("semel.yaml");
    std::fs::write(&path, format!("store: {}\nadmin: off\n", place.url)).unwrap();
    let words = ["check", "--config", "semel.yaml"];
    let found = checked(&place, &words);
    assert!(
        found.contains("every process that reaches it shares them"),
        "{found}"
    );
    assert!(
        found.contains("it has no tables yet, semel serve creates them"),
        "{found}"
    );
}
