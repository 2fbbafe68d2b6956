//! Encryption in processes that serve: the key-encryption key changes at SIGHUP while requests run.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::{Semel, Shop, ask, semel};

fn file(shop: &Shop, keys: &[&str]) -> String {
    let key = |id: &&str| {
        let secret = id.repeat(64);
        format!("    - {{ id: key-{id}, secret: {secret} }}\n")
    };
    let keys: String = keys.iter().map(key).collect();
    let encryption = match keys.is_empty() {
        true => String::new(),
        false => format!("encryption:\n  keys:\n{keys}"),
    };
    let url = shop.url();
    format!(
        "store: sqlite:semel.db\n\
         admin: {{ listen: 127.0.0.1:0 }}\n\
         gateway:\n\
         \x20 listen: 127.0.0.1:0\n\
         \x20 upstream: {url}\n\
         \x20 routes:\n\
         \x20   - match: {{ methods: [POST], path: /pay }}\n\
         {encryption}"
    )
}

/// Pays with this key; what was answered.
fn pay(gateway: SocketAddr, key: &str) -> (u16, String) {
    let answer = ask(gateway, "POST", "/pay", &[("Idempotency-Key", key)], "{}").unwrap();
    (answer.status, answer.body)
}

fn has(dir: &Path, text: &str) -> bool {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let stored = files.filter(|path| path.to_string_lossy().contains("semel.db"));
    let has = |path| {
        let bytes = fs::read(path).unwrap();
        bytes
            .windows(text.len())
            .any(|found| found == text.as_bytes())
    };
    stored.into_iter().any(has)
}

#[test]
fn the_key_changes_at_a_hangup_while_requests_run() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let path = dir.path().join("semel.yaml");
    let write = |keys: &[&str]| fs::write(&path, file(&shop, keys)).unwrap();
    write(&["a"]);
    let server = Semel::start(dir.path(), &["serve", "--config", "semel.yaml"]);
    let first = pay(server.gateway, "first");
    assert_eq!(first.0, 201);

    let (stop, gateway) = (AtomicBool::new(false), server.gateway);
    thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut paid = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let key = format!("load-{}", paid.len());
                paid.push((key.clone(), pay(gateway, &key)));
            }
            paid
        });
        for keys in [&["b", "a"] as &[&str], &["b"]] {
            write(keys);
            server.signal("HUP");
            server.wait_for("the configuration was read again");
            assert_eq!(pay(gateway, "first"), first);
            let (code, _, said) = semel(dir.path(), &["encryption", "rotate"]);
            assert_eq!(code, Some(0), "{said}");
        }
        stop.store(true, Ordering::Relaxed);
        let paid = load.join().unwrap();
        assert!(!paid.is_empty());
        for (key, answer) in &paid {
            assert_eq!(answer.0, 201, "{key}");
            assert_eq!(pay(gateway, key), *answer, "{key}");
        }
        assert_eq!(shop.effects(), paid.len() + 1);
    });
    assert!(!has(dir.path(), "effect 1"));

    // A file that has lost its section is refused, and the keys stay.
    write(&[]);
    server.signal("HUP");
    let said = server.wait_for("the old one stays");
    assert!(said.contains("encryption.keys"), "{said}");
    assert_eq!(pay(gateway, "first"), first);
}
