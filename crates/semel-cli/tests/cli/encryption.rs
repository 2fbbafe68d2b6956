//! `encryption` in the file, from the first sealed message to the erased tenant.

use std::fs;

use crate::fixture::Fixture;

fn file(keys: &[&str]) -> String {
    let key = |id: &&str| {
        let secret = id.repeat(64);
        format!("    - {{ id: key-{id}, secret: {secret} }}\n")
    };
    let keys: String = keys.iter().map(key).collect();
    format!("store: sqlite:semel.db\nencryption:\n  keys:\n{keys}")
}

#[test]
fn contents_are_sealed_rotated_and_erased_with_one_file() {
    let store = Fixture::with_messages();
    let config = store.path().with_file_name("semel.yaml");
    let payload = store.path().with_file_name("body.txt");
    fs::write(&payload, "payload-in-the-clear").unwrap();
    fs::write(&config, file(&["a"])).unwrap();
    let send = "inbox send mailer --id sealed --tenant ann --new-consumer body.txt";
    assert_eq!(store.semel(send).code, 0);
    let show = || {
        let ran = store.semel("inbox show mailer sealed --tenant ann --json --payload");
        ran.json()["arrived"]["payload"]["text"].clone()
    };
    assert_eq!(show(), "payload-in-the-clear");
    let directory = store.path().parent().unwrap().to_owned();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path != payload {
            let bytes = fs::read(&path).unwrap();
            let found = bytes
                .windows(20)
                .any(|text| text == b"payload-in-the-clear");
            assert!(!found, "{}", path.display());
        }
    }

    fs::write(&config, file(&["b", "a"])).unwrap();
    // A second time for nothing, which is in the audit all the same.
    for (wrapped, reason) in [(1, "quarterly"), (0, "once-more")] {
        let rotate = format!("encryption rotate --json --by erin --reason {reason}");
        let rotated = store.semel(&rotate).json();
        assert_eq!(
            (&rotated["tenants"], &rotated["wrapped"]),
            (&1.into(), &wrapped.into())
        );
        let audit = store.semel("audit --json").stdout;
        for part in ["erin", reason, "semel:data-key@1", "key rotation:key-b"] {
            assert!(audit.contains(part), "{part}: {audit}");
        }
    }
    fs::write(&config, file(&["b"])).unwrap();
    assert_eq!(show(), "payload-in-the-clear");
    assert!(
        store
            .semel("check")
            .stdout
            .contains("the data keys of 1 tenant open")
    );

    fs::write(&config, file(&["c"])).unwrap();
    let checked = store.semel("check");
    assert_ne!(checked.code, 0);
    assert!(
        checked.stdout.contains("does not open"),
        "{}",
        checked.stdout
    );

    fs::write(&config, file(&["b"])).unwrap();
    let erase = "encryption erase --tenant ann --reason request --by dana --now --yes";
    let asked = store.semel("encryption erase --tenant ann --reason request --by dana --now");
    assert_eq!(asked.code, 1);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    assert_eq!(show(), "payload-in-the-clear");
    let erased = store.semel(erase);
    assert_eq!(erased.code, 0, "{}", erased.stderr);
    assert!(show().is_null());
    let audit = store.semel("audit").stdout;
    assert!(
        audit.contains("dana") && audit.contains("request"),
        "{audit}"
    );
    assert_eq!(store.semel(erase).code, 1);
}

#[test]
fn without_its_keys_a_sealed_store_is_not_served_and_gets_nothing_plain() {
    let store = Fixture::with_messages();
    let config = store.path().with_file_name("semel.yaml");
    let payload = store.path().with_file_name("body.txt");
    fs::write(&payload, "payload-in-the-clear").unwrap();
    fs::write(&config, file(&["a"])).unwrap();
    let send = |id: &str| {
        store.semel(&format!(
            "inbox send mailer --id {id} --tenant ann --new-consumer body.txt"
        ))
    };
    assert_eq!(send("sealed").code, 0);

    fs::write(&config, "store: sqlite:semel.db\n").unwrap();
    let refused = send("plain");
    assert_ne!(refused.code, 0);
    assert!(
        refused.stderr.contains("encryption.keys"),
        "{}",
        refused.stderr
    );
    for verb in [
        "serve",
        "gateway --upstream http://127.0.0.1:9",
        "gateway --upstream http://127.0.0.1:9 --store sqlite:semel.db",
    ] {
        let served = store.semel(verb);
        assert_eq!(served.code, 78, "{verb}: {}", served.stderr);
        assert!(
            served.stderr.contains("encryption.keys"),
            "{}",
            served.stderr
        );
    }
    assert_ne!(store.semel("check").code, 0);
    let list = store.semel("inbox list --json").stdout;
    assert!(list.contains("sealed") && !list.contains("plain"), "{list}");
}
