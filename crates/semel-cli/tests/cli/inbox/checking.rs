//! `semel check` on a file with consumers.

use insta::assert_snapshot;

use crate::fixture::{Fixture, Ran};

fn check(consumers: &str) -> Ran {
    let fixture = Fixture::with_messages();
    let file = fixture.path().with_file_name("semel.yaml");
    std::fs::write(file, format!("consumers:\n{consumers}")).unwrap();
    fixture.semel("check --config semel.yaml")
}

#[test]
fn check_explains_each_consumer_and_where_its_messages_are() {
    let ran = check("  mailer: { source: http, deliver: \"http://127.0.0.1:9/mail\" }\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    for said in [
        "consumer mailer@1\n",
        "POST /inbox/mailer",
        "POST http://127.0.0.1:9/mail",
        "✓ inbox   1 consumer and 0 targets of intents, stored in sqlite:semel.db\n",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
}

#[test]
fn check_refuses_what_cannot_be_served() {
    let ran = check("  mailer: { source: http }\n");
    assert_eq!(ran.code, 78, "{ran:?}");
    let said = "✗ inbox   consumer mailer@1: expected deliver, because semel serve gives messages to a service, found none";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn check_refuses_to_forget_before_messages_can_come_again() {
    let ran = check(
        "  mailer:\n    deliver: http://127.0.0.1:9/mail\n    dedup: { retentionDays: 1 }\n    replay: { allowed: true, window: 7d }\n",
    );
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: semel.yaml:4:29: consumers.mailer.dedup.retentionDays: expected at least the 7d of replay.window, found 1d (consumers.mailer.replay.window at 5:38)

    exit: 78
    "#);
}

#[test]
fn check_refuses_what_cannot_start() {
    let posted = "source: http, deliver: \"http://127.0.0.1:9/mail\"";
    for (file, said) in [
        (
            format!("admin: {{ listen: 127.0.0.1:7072 }}\nconsumers: {{ mailer: {{ {posted} }} }}"),
            "admin.listen is 127.0.0.1:7072 and inbox.listen is 127.0.0.1:7072: two listeners cannot have one port",
        ),
        (
            "admin: { listen: 0.0.0.0:7071 }".to_owned(),
            "the admin side needs a token to listen on 0.0.0.0:7071",
        ),
        (
            "consumers: { mailer: { source: file:none/events.jsonl, deliver: 'http://a/b' } }"
                .to_owned(),
            "consumer mailer@1: source: none/events.jsonl cannot be read: No such file or directory",
        ),
        (
            "gateway: { upstream: 'http://a', tls: { certificate: none/a.pem, key: none/b.pem } }"
                .to_owned(),
            "gateway.tls.certificate: none/a.pem cannot be read",
        ),
        (
            "consumers: { mailer: { source: http, deliver: 'localhost:9/mail' } }".to_owned(),
            "expected a URL such as http://127.0.0.1:9000/orders",
        ),
        (
            "consumers: { mailer: { source: http, deliver: '127.0.0.1:9/mail' } }".to_owned(),
            "expected a URL such as http://127.0.0.1:9000/orders",
        ),
    ] {
        let fixture = Fixture::with_messages();
        std::fs::write(fixture.path().with_file_name("semel.yaml"), &file).unwrap();
        let ran = fixture.semel("check --config semel.yaml");
        assert_eq!(ran.code, 78, "{file}: {ran:?}");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains(said), "{file}: {all}");
    }
}
