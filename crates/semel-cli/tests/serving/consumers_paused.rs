//! `paused` in the file, and an operator who decides otherwise.

use std::fs;
use std::path::Path;

use crate::handler::Handler;
use crate::support::{Semel, ask, semel};

fn write(dir: &Path, handler: &Handler, more: &str) {
    let file = format!(
        "admin: {{ listen: 127.0.0.1:0 }}\ninbox: {{ listen: 127.0.0.1:0 }}\nconsumers:\n  mailer: {{ source: http, deliver: \"http://{}/mail\"{more} }}\n",
        handler.addr
    );
    fs::write(dir.join("semel.yaml"), file).unwrap();
}

fn send(server: &Semel, id: &str) {
    let key = [("Idempotency-Key", id)];
    let answer = ask(server.inbox, "POST", "/inbox/mailer", &key, "{}").unwrap();
    assert_eq!(answer.status, 202, "{}", answer.body);
}

fn reload(server: &Semel) {
    server.signal("HUP");
    server.wait_for("the configuration was read again");
}

fn is_paused(server: &Semel) -> bool {
    let counts = server.get("/api/v1/inbox/counts").body;
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    !counts["consumers"][0]["paused"].is_null()
}

#[test]
fn the_file_pauses_when_it_says_so_anew_and_an_operators_word_holds_after_it() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    write(dir.path(), &handler, ", paused: true");
    let server = Semel::serve_inbox(dir.path(), &[]);
    send(&server, "evt-1");
    assert!(is_paused(&server));
    assert!(handler.is_quiet());
    let (code, _, said) = semel(dir.path(), &["inbox", "resume", "mailer"]);
    assert_eq!(code, Some(0), "{said}");
    let first = handler.next();
    assert_eq!(first.header("semel-message-id"), "evt-1");
    first.answer(200);

    write(dir.path(), &handler, ", paused: true, workers: 2");
    reload(&server);
    assert!(!is_paused(&server), "an unrelated reload pauses nothing");
    send(&server, "evt-2");
    handler.next().answer(200);

    write(dir.path(), &handler, "");
    reload(&server);
    write(dir.path(), &handler, ", paused: true");
    reload(&server);
    assert!(is_paused(&server), "the file says it anew");
    send(&server, "evt-3");
    write(dir.path(), &handler, "");
    reload(&server);
    let third = handler.next();
    assert_eq!(third.header("semel-message-id"), "evt-3");
    third.answer(200);

    let paused = semel(dir.path(), &["inbox", "pause", "mailer"]);
    assert_eq!(paused.0, Some(0), "{}", paused.2);
    write(dir.path(), &handler, ", paused: false");
    reload(&server);
    assert!(
        is_paused(&server),
        "the file does not lift an operator's pause"
    );
}
