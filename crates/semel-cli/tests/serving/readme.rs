//! The README's tour of the gateway, with the README's own service.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::support::{Semel, ask};

/// The README's block that begins with this fence.
fn block(fence: &str) -> String {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, rest) = readme.split_once(fence).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

struct Shop(Child);

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_readmes_shop_charges_once() {
    let python = std::env::var("SEMEL_TEST_PYTHON").expect(
        "SEMEL_TEST_PYTHON names no Python: run the tests with `cargo xtask test`, or \
         `cargo xtask services up python` and export what it prints",
    );
    let dir = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let script = block("```python\n").replace("8080", &port.to_string());
    let addr = format!("127.0.0.1:{port}").parse().unwrap();
    fs::write(dir.path().join("shop.py"), script).unwrap();
    let shop = Command::new(python)
        .arg("shop.py")
        .current_dir(dir.path())
        .stderr(Stdio::null())
        .spawn();
    let _shop = Shop(shop.unwrap());
    // Whatever it says to a GET, it is up then.
    while ask(addr, "GET", "/", &[], "").is_none() {
        std::thread::yield_now();
    }
    let url = format!("http://127.0.0.1:{port}");
    let args = [
        "gateway",
        "--upstream",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
    ];
    let server = Semel::start(dir.path(), &args);
    let pay = |body| {
        let key = [("Idempotency-Key", "order-17")];
        ask(server.gateway, "POST", "/charges", &key, body).unwrap()
    };
    let (first, second) = (pay(r#"{"cents": 4200}"#), pay(r#"{"cents": 4200}"#));
    assert_eq!(
        (first.status, first.body.as_str()),
        (201, "charge number 1\n")
    );
    assert_eq!(
        (second.status, second.body.as_str()),
        (201, "charge number 1\n")
    );
    assert!(!first.is_replay() && second.is_replay());
    assert_eq!(pay(r#"{"cents": 4300}"#).status, 422);
}
