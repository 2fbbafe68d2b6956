//! SIGHUP takes over consumers, the admin token and the log level, and names what needs a restart.

use std::fs;
use std::path::Path;

use crate::handler::Handler;
use crate::support::{Answer, Semel, ask};

/// A file with this head and a consumer for each name and handler.
fn write(dir: &Path, head: &str, consumers: &[(&str, &Handler)]) {
    let consumer = |(name, handler): &(&str, &Handler)| {
        format!(
            "  {name}: {{ source: http, deliver: \"http://{}/mail\" }}\n",
            handler.addr
        )
    };
    let consumers: String = consumers.iter().map(consumer).collect();
    let file = format!("{head}inbox: {{ listen: 127.0.0.1:0 }}\nconsumers:\n{consumers}");
    fs::write(dir.join("semel.yaml"), file).unwrap();
}

const HEAD: &str = "admin: { listen: 127.0.0.1:0, token: first-token-of-admin }\n";

fn send(server: &Semel, consumer: &str, id: &str) -> Answer {
    let path = format!("/inbox/{consumer}");
    ask(
        server.inbox,
        "POST",
        &path,
        &[("Idempotency-Key", id)],
        "{}",
    )
    .unwrap()
}

fn reload(server: &Semel) -> String {
    server.signal("HUP");
    server.wait_for("the configuration was read again")
}

#[test]
fn a_hangup_moves_adds_and_removes_consumers_while_a_handler_runs() {
    let (old, new) = (Handler::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), HEAD, &[("mailer", &old), ("leaver", &old)]);
    let server = Semel::serve_inbox(dir.path(), &[]);
    assert_eq!(send(&server, "mailer", "evt-1").status, 202);
    let running = old.next();
    assert_eq!(send(&server, "joiner", "evt-1").status, 404);

    write(dir.path(), HEAD, &[("mailer", &new), ("joiner", &new)]);
    reload(&server);
    assert_eq!(send(&server, "mailer", "evt-2").status, 202);
    assert_eq!(new.next().header("semel-message-id"), "evt-2");
    assert_eq!(send(&server, "joiner", "evt-1").status, 202);
    assert_eq!(new.next().header("semel-consumer"), "joiner@1");
    assert_eq!(send(&server, "leaver", "evt-1").status, 404);
    running.answer(200);
    server.wait_for("the engine that was replaced has stopped");
    let shown = crate::support::semel(dir.path(), &["inbox", "show", "mailer", "evt-1"]);
    assert!(shown.1.contains("COMPLETED"), "{}", shown.1);
    assert!(old.is_quiet());
}

#[test]
fn a_hangup_rotates_the_admin_token_and_changes_the_log_level() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    write(dir.path(), HEAD, &[("mailer", &handler)]);
    let server = Semel::serve_inbox(dir.path(), &[]);
    let stats = |token: &str| {
        let token = format!("Bearer {token}");
        let headers = [("Authorization", token.as_str())];
        let answer = ask(server.admin, "GET", "/api/v1/stats", &headers, "");
        answer.unwrap().status
    };
    assert_eq!(stats("first-token-of-admin"), 200);

    let head =
        "admin: { listen: 127.0.0.1:0, token: other-token-of-admin }\nlog: { level: debug }\n";
    write(dir.path(), head, &[("mailer", &handler)]);
    reload(&server);
    assert_eq!(stats("first-token-of-admin"), 401);
    assert_eq!(stats("other-token-of-admin"), 200);
    assert_eq!(send(&server, "mailer", "evt-1").status, 202);
    handler.next().answer(200);
    let line = server.wait_for("completed");
    assert!(line.contains("DEBUG"), "{line}");
}

#[test]
fn what_needs_a_restart_is_named_and_the_rest_is_taken() {
    let (old, new) = (Handler::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), HEAD, &[("mailer", &old)]);
    let server = Semel::serve_inbox(dir.path(), &[]);
    let head = "store: sqlite:other.db\nlog: { format: json }\n\
                admin: { listen: 127.0.0.1:1, token: first-token-of-admin }\n";
    write(dir.path(), head, &[("mailer", &new)]);
    server.signal("HUP");
    let line = server.wait_for("need a restart");
    let keys = "keys=\"store, log.format, admin.listen\"";
    assert!(line.contains(keys), "{line}");
    server.wait_for("the configuration was read again");
    assert_eq!(send(&server, "mailer", "evt-1").status, 202);
    assert_eq!(new.next().header("semel-message-id"), "evt-1");
}

#[test]
fn a_file_that_is_wrong_or_cannot_be_served_changes_nothing() {
    let (old, new) = (Handler::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), HEAD, &[("mailer", &old)]);
    let server = Semel::serve_inbox(dir.path(), &[]);
    for (head, why) in [
        ("stores: x\n", "stores"),
        (
            "admin: { listen: 127.0.0.1:0, token: 'two words' }\n",
            "visible ASCII",
        ),
        (
            "gateway: { upstream: 'http://127.0.0.1:1', tls: { certificate: none.pem } }\n",
            "gateway.tls",
        ),
    ] {
        write(dir.path(), head, &[("mailer", &new), ("joiner", &new)]);
        server.signal("HUP");
        let line = server.wait_for("the old one stays");
        assert!(line.contains(why), "{line}");
    }
    assert_eq!(send(&server, "joiner", "evt-1").status, 404);
    assert_eq!(send(&server, "mailer", "evt-1").status, 202);
    assert_eq!(old.next().header("semel-message-id"), "evt-1");
}

#[test]
fn consumers_can_come_and_go_altogether() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    fs::write(dir.path().join("semel.yaml"), HEAD).unwrap();
    let mut server = Semel::serve(dir.path(), &[]);
    write(dir.path(), HEAD, &[("mailer", &handler)]);
    server.signal("HUP");
    server.find_inbox();
    server.wait_for("the configuration was read again");
    assert_eq!(send(&server, "mailer", "evt-1").status, 202);
    handler.next().answer(200);
    fs::write(dir.path().join("semel.yaml"), HEAD).unwrap();
    reload(&server);
    assert_eq!(send(&server, "mailer", "evt-2").status, 404);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn messages_of_a_version_that_the_file_no_longer_names_are_named_and_run_beside_the_new_one() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    let url = format!("http://{}/mail", handler.addr);
    let admin = "admin: { listen: 127.0.0.1:0 }\ninbox: { listen: 127.0.0.1:0 }\n";
    let file = |consumers: &str| {
        let consumers = consumers.replace("URL", &url);
        fs::write(
            dir.path().join("semel.yaml"),
            format!("{admin}consumers:\n{consumers}"),
        )
        .unwrap();
    };
    file("  mailer: { source: http, deliver: URL, workers: 1 }\n");
    let server = Semel::serve_inbox(dir.path(), &[]);
    assert_eq!(send(&server, "mailer", "evt-1").status, 202);
    let first = handler.next();
    assert_eq!(send(&server, "mailer", "evt-2").status, 202);

    file("  mailer: { source: http, deliver: URL, version: 2 }\n");
    server.signal("HUP");
    let line = server.wait_for("which the file does not name");
    assert!(line.contains("consumer=mailer@1"), "{line}");
    first.answer(200);
    server.wait_for("the engine that was replaced has stopped");
    assert_eq!(send(&server, "mailer", "evt-3").status, 202);
    let newer = handler.next();
    assert_eq!(newer.header("semel-consumer"), "mailer@2");
    newer.answer(200);
    server.metrics_with(r#"semel_alert{consumer="mailer@1",alert="unserved"} 1"#);
    let counts = server.get("/api/v1/inbox/counts").body;
    assert!(counts.contains(r#""served":false"#), "{counts}");
    let semel = |args: &[&str]| crate::support::semel(dir.path(), args);
    let (_, table, hint) = semel(&["inbox", "counts"]);
    assert!(table.contains("not served"), "{table}");
    assert!(hint.contains("1 message waits for mailer@1"), "{hint}");
    let (code, checked, _) = semel(&["check", "--config", "semel.yaml"]);
    assert_eq!(code, Some(0), "{checked}");
    assert!(
        checked.contains("! inbox   1 message waits for mailer@1"),
        "{checked}"
    );

    file("  mailer: { source: http, deliver: URL, version: 2 }\n  mailer@1: { deliver: URL }\n");
    reload(&server);
    let second = handler.next();
    assert_eq!(second.header("semel-message-id"), "evt-2");
    assert_eq!(second.header("semel-consumer"), "mailer@1");
    second.answer(200);
}
