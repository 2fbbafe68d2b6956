//! Messages on stores that are servers.

use crate::handler::Handler;
use crate::support::Semel;
use crate::test_store::TestStore;

#[test]
fn messages_are_served_and_decided_about_on_postgres() {
    let (place, handler) = (TestStore::postgres(), Handler::open());
    let file = format!(
        "store: \"{}\"\nadmin: {{ listen: 127.0.0.1:0 }}\ninbox: {{ listen: 127.0.0.1:0 }}\n\
         consumers:\n  mailer: {{ source: http, deliver: \"http://{}/mail\" }}\n",
        place.url, handler.addr
    );
    std::fs::write(place.dir().join("semel.yaml"), file).unwrap();
    let server = Semel::start_inbox(place.dir());
    let key = [("Idempotency-Key", "evt-1")];
    let post = || crate::support::ask(server.inbox, "POST", "/inbox/mailer", &key, "{}").unwrap();
    assert_eq!(post().status, 202);
    handler.next().answer(422);
    server.wait_for("failed-terminal");
    assert_eq!(post().status, 200);

    let shown = place.semel(&["inbox", "show", "mailer", "evt-1"]).done();
    assert!(shown.contains("FAILED_TERMINAL"), "{shown}");
    let counts = place.semel(&["inbox", "counts"]).done();
    assert!(counts.contains("mailer@1"), "{counts}");
    let dead = place.semel(&["dlq", "list"]).done();
    assert!(dead.contains("evt-1"), "{dead}");
    let forecast = place.semel(&["dlq", "replay", "mailer", "--all", "--dry-run"]);
    assert!(forecast.done().starts_with("would run again  1\n"));
    place.semel(&["dlq", "replay", "mailer", "evt-1"]).done();
    let again = handler.next();
    assert_eq!(again.header("semel-generation"), "1");
    again.answer(200);
    let is_done = |_| {
        let shown = place.semel(&["inbox", "show", "mailer", "evt-1"]).done();
        shown.contains("COMPLETED")
    };
    assert!((0..1_000).any(is_done), "it is never done");
    let forced = ["replay", "mailer", "evt-1", "--force", "--reason", "INC-7"];
    place.semel(&forced).done();
    let replayed = handler.next();
    assert_eq!(replayed.header("semel-replay"), "true");
    replayed.answer(200);
    let audit = place.semel(&["audit"]).done();
    assert!(
        audit.contains("dlq replay") && audit.contains("INC-7"),
        "{audit}"
    );
}

#[test]
fn redis_has_no_inbox() {
    for place in [TestStore::redis(), TestStore::redis_and_file()] {
        let ran = place.semel(&["inbox", "list"]);
        assert_eq!(ran.code, Some(78), "{ran:?}");
        let said = "the inbox needs SQLite or PostgreSQL";
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}
