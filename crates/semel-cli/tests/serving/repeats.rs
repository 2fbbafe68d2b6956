//! What came again, asked by `semel duplicates` from running processes.

use std::fs;

use serde_json::Value;

use crate::handler::Handler;
use crate::support::{Semel, Shop, ask, semel};

const GATEWAY: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

#[test]
fn semel_duplicates_adds_up_what_came_again_in_several_processes() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let args = [&["gateway", "--upstream", &url], &GATEWAY[..]].concat();
    let gateway = Semel::start(dir.path(), &args);
    let admin = gateway.admin.to_string();
    let empty = semel(dir.path(), &["duplicates", "--admin", &admin]);
    assert_eq!((empty.0, empty.1.as_str()), (Some(0), ""), "{}", empty.2);
    assert!(
        empty.2.starts_with("nothing has come again since 2"),
        "{}",
        empty.2
    );
    for key in ["k-1", "k-1", "k-2", "k-1"] {
        let headers = [("Idempotency-Key", key)];
        let answer = ask(gateway.gateway, "POST", "/pay", &headers, "{}").unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    assert_eq!(shop.effects(), 2);

    let (handler, inbox_dir) = (Handler::open(), tempfile::tempdir().unwrap());
    let file = format!(
        "admin: {{ listen: 127.0.0.1:0 }}\n\
         inbox: {{ listen: 127.0.0.1:0 }}\n\
         consumers:\n\
         \x20 mailer: {{ source: http, deliver: 'http://{}/mail' }}\n",
        handler.addr
    );
    fs::write(inbox_dir.path().join("semel.yaml"), file).unwrap();
    let inbox = Semel::start_inbox(inbox_dir.path());
    let send = || {
        let headers = [("Idempotency-Key", "evt-1")];
        let answer = ask(inbox.inbox, "POST", "/inbox/mailer", &headers, "{}").unwrap();
        assert!(answer.status < 300, "{answer:?}");
    };
    send();
    // Only what comes after its first has settled says how late duplicates come.
    handler.next().answer(200);
    inbox.metrics_with("semel_records{state=\"settled\"} 1");
    send();
    send();

    let both = [
        "duplicates",
        "--admin",
        &admin,
        "--admin",
        &inbox.admin.to_string(),
    ];
    let (code, data, said) = semel(dir.path(), &[&both[..], &["--json"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let found: Value = serde_json::from_str(&data).unwrap();
    let row = |scope: &str| {
        let mut rows = found["scopes"].as_array().unwrap().iter();
        rows.find(|row| row["scope"].as_str().unwrap().starts_with(scope))
            .unwrap_or_else(|| panic!("{scope} is not in {data}"))
    };
    let pay = row("POST");
    assert_eq!(pay["origins"]["client-retry"], 2, "{data}");
    assert_eq!(pay["origins"]["new-key"], 1, "{data}");
    assert_eq!(
        (&pay["suppressed"], &pay["retention"]["rests_on"]),
        (&2.into(), &2.into())
    );
    assert_eq!(row("mailer@1")["suppressed"], 2, "{data}");
    let (code, data, said) = semel(dir.path(), &both);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        data.starts_with("SCOPE") && data.contains("mailer@1"),
        "{data}"
    );
    assert!(said.contains("mailer@1: all 2 came within"), "{said}");
}
