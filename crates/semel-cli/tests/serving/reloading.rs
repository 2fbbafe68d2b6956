//! The file, read at the start and again at SIGHUP.

use std::fs;

use crate::support::{Semel, Shop, semel};

fn file(shop: &Shop, missing: &str) -> String {
    format!(
        "admin: {{ listen: 127.0.0.1:0 }}\n\
         gateway:\n\
         \x20 listen: 127.0.0.1:0\n\
         \x20 upstream: {}\n\
         \x20 routes:\n\
         \x20   - match: {{ methods: [POST], path: /pay }}\n\
         \x20     missing: {missing}\n",
        shop.url()
    )
}

#[test]
fn at_a_hangup_a_good_file_is_taken_and_a_bad_one_is_not() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let path = dir.path().join("semel.yaml");
    fs::write(&path, file(&shop, "pass")).unwrap();
    let server = Semel::start(dir.path(), &["serve", "--config", "semel.yaml"]);
    let keyless = || crate::support::ask(server.gateway, "POST", "/pay", &[], "{}").unwrap();
    assert_eq!(keyless().status, 201);

    fs::write(&path, file(&shop, "perhaps")).unwrap();
    server.signal("HUP");
    let said = server.wait_for("the old one stays");
    assert!(
        said.contains("semel.yaml:7:16") && said.contains("perhaps"),
        "{said}"
    );
    assert_eq!(keyless().status, 201);

    fs::write(&path, file(&shop, "require")).unwrap();
    server.signal("HUP");
    server.wait_for("the configuration was read again");
    let refused = keyless();
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("key-missing"), "{}", refused.body);
    assert_eq!(shop.effects(), 2);
}

#[test]
fn a_bad_file_ends_it_at_once_and_says_where() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("bad.yaml"),
        "gateway:\n  upstraem: http://x\n",
    )
    .unwrap();
    let (code, _, said) = semel(dir.path(), &["serve", "--config", "bad.yaml"]);
    assert_eq!(code, Some(78));
    assert!(
        said.contains("bad.yaml:2:3") && said.contains("upstream"),
        "{said}"
    );
    let (code, _, said) = semel(dir.path(), &["serve", "--config", "absent.yaml"]);
    assert_eq!(code, Some(78));
    assert!(said.contains("absent.yaml"), "{said}");
    let (code, _, said) = semel(
        dir.path(),
        &["gateway", "--upstream", "http://x", "--lease", "9y"],
    );
    assert_eq!(code, Some(78));
    assert!(said.contains("--lease") && said.contains("9y"), "{said}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let (url, taken) = (shop.url(), shop.addr.to_string());
    let args = [
        "gateway",
        "--upstream",
        &url,
        "--admin",
        "off",
        "--listen",
        &taken,
    ];
    let (code, _, said) = semel(dir.path(), &args);
    assert_eq!(code, Some(78));
    assert!(said.contains(&taken), "{said}");
    let args = [
        "gateway",
        "--upstream",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        &taken,
    ];
    let (code, _, said) = semel(dir.path(), &args);
    assert_ne!(code, Some(0));
    assert!(said.contains(&taken) && said.contains("--admin"), "{said}");
}
