//! The README's tour of the gateway, with the README's own service.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::support::{Semel, ask};

/// The first block of a page that begins with this fence.
pub(crate) fn block(page: &str, fence: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = fs::read_to_string(format!("{root}/{page}")).unwrap();
    let (_, rest) = page.split_once(fence).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The Python that tests use.
pub(crate) fn python() -> String {
    std::env::var("SEMEL_TEST_PYTHON").expect(
        "SEMEL_TEST_PYTHON names no Python: run the tests with `cargo xtask test`, or \
         `cargo xtask services up python` and export what it prints",
    )
}

pub(crate) struct Shop(pub(crate) Child);

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_readmes_shop_charges_once() {
    let dir = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let script = block("README.md", "```python\n").replace("8080", &port.to_string());
    let addr = format!("127.0.0.1:{port}").parse().unwrap();
    fs::write(dir.path().join("shop.py"), script).unwrap();
    let shop = Command::new(python())
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
