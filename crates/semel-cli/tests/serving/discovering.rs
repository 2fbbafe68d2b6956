//! Servers and operators in one directory use one store.

use std::fs;

use crate::support::{Semel, Shop, semel};

#[test]
fn a_server_and_an_operator_in_one_directory_use_one_store() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let file = format!(
        "store: sqlite:pay.db\nadmin: {{ listen: '127.0.0.1:0' }}\n\
         gateway: {{ listen: '127.0.0.1:0', upstream: '{}' }}\n",
        shop.url()
    );
    fs::write(dir.path().join("semel.yaml"), file).unwrap();
    let server = Semel::start(dir.path(), &["serve"]);
    // The line about the gateway comes after it.
    let said = server.log();
    assert!(
        said.contains("sqlite:pay.db") && said.contains("./semel.yaml"),
        "{said}"
    );
    server.post("/pay", "order-17");
    let (code, listed, _) = semel(dir.path(), &["keys", "list"]);
    assert!(code == Some(0) && listed.contains("order-17"), "{listed}");
    assert!(!dir.path().join("semel.db").exists());
}

#[test]
fn a_gateway_by_flags_takes_store_and_admin_side_from_the_file_and_nothing_else() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let file = "store: sqlite:pay.db\nadmin: { listen: '127.0.0.1:0', token: open-sesame }\n\
                gateway: { upstream: 'http://127.0.0.1:1', missing: require }\n\
                consumers: { mailer: { source: http } }\n";
    fs::write(dir.path().join("semel.yaml"), file).unwrap();
    let url = shop.url();
    let args = ["gateway", "--upstream", &url, "--listen", "127.0.0.1:0"];
    let server = Semel::start(dir.path(), &args);
    assert_eq!(server.post("/pay", "order-17").status, 201);
    assert_eq!(server.get("/api/v1/records").status, 401);
    let (code, listed, _) = semel(dir.path(), &["keys", "list"]);
    assert!(code == Some(0) && listed.contains("order-17"), "{listed}");
}
