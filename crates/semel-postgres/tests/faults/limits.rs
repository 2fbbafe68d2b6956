//! The server has no more to give: connections, the right to write, room on its disk.

use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Kind, Store, StoreExt};
use semel_testkit::server::{Server, SmallDisk};

use crate::support::verbs::{Books, done, granted, identity, request, settle, until};
use crate::support::{Schema, client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_free_connection_is_unavailable_until_it_has_one() {
    let server = Server::start("postgres", &["max_connections=8", "max_wal_senders=0"]);
    let schema = Schema::at(server.url());
    let books = Books::new();
    let store = schema.open().await;
    // Whoever is connected already goes on; the others hear why they are not.
    let mut others = Vec::new();
    while let Ok((client, connection)) =
        tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await
    {
        tokio::spawn(connection);
        others.push(client);
    }
    let error = schema.config().connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    assert!(error.to_string().contains("too many clients"), "{error}");
    done(&store, &books.ledger, "connected").await;
    drop(others);
    until("there is room again", async || {
        schema.config().connect().await.is_ok()
    })
    .await;
    done(&schema.open().await, &books.ledger, "recovered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_writes_is_read_and_says_so() {
    let server = Server::start("postgres", &[]);
    let schema = Schema::at(server.url());
    let config = schema.config().timeout(Duration::from_millis(300));
    let store = config.connect().await.unwrap();
    let lease = granted(&store, "k").await;
    let done = granted(&store, "done").await;
    let settled = store.settle_one(settle(&done.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    read_only(&server.url(), "on").await;
    // What is there already is answered without a write, so each probe is of its own.
    let mut probes = 0;
    until("writes are refused", async || {
        probes += 1;
        let probe = request(&format!("probe-{probes}"));
        store.claim_one(probe).await.is_err()
    })
    .await;
    let error = store.claim_one(request("new")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::ReadOnly, "{error}");
    let error = store
        .settle_one(settle(&lease.claim, "done"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::ReadOnly, "{error}");
    assert!(store.look_up_one(identity("k")).await.unwrap().is_some());
    assert!(store.look_up_one(identity("new")).await.unwrap().is_none());
    // What needs no write is answered, also in the company of what does.
    let asked = ["done", "new", "k"].map(request).into_iter().collect();
    let answers = store.claim(asked).await;
    assert!(matches!(answers[0], Ok(ClaimAnswer::Settled(_))));
    assert!(matches!(&answers[1], Err(error) if error.kind() == Kind::ReadOnly));
    assert!(matches!(answers[2], Ok(ClaimAnswer::Running { .. })));
    read_only(&server.url(), "off").await;
    until("writes are taken again", async || {
        store.settle_one(settle(&lease.claim, "done")).await.is_ok()
    })
    .await;
    granted(&store, "new").await;
}

async fn read_only(url: &str, word: &str) {
    let client = client(url).await;
    // The way back must be open.
    client
        .batch_execute("SET default_transaction_read_only = off")
        .await
        .unwrap();
    let set = format!("ALTER SYSTEM SET default_transaction_read_only = {word}");
    client.batch_execute(&set).await.unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_loses_nothing() {
    let server = Server::start("postgres", &[]);
    let disk = SmallDisk::mount(16, &server.home().join("data"));
    let (schema, books) = (Schema::at(server.url()), Books::new());
    let client = schema.client().await;
    let place = format!(
        "CREATE TABLESPACE small LOCATION '{}'",
        disk.path().display()
    );
    client.batch_execute(&place).await.unwrap();
    client
        .batch_execute("ALTER DATABASE postgres SET default_tablespace = small")
        .await
        .unwrap();
    let store = schema.open().await;
    let lease = granted(&store, "before").await;
    done(&store, &books.ledger, "done").await;
    // Somebody else fills the disk, to its last page.
    let client = schema.client().await;
    client
        .batch_execute("CREATE TABLE filler (x text)")
        .await
        .unwrap();
    for size in [100_000, 1_000, 1] {
        let fill =
            format!("INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, {size})");
        while client.batch_execute(&fill).await.is_ok() {}
    }
    let (mut granted_keys, mut refused) = (Vec::new(), None);
    for n in 0..2_000 {
        let key = format!("k{n}");
        match store.claim_one(request(&key)).await {
            Ok(_) => granted_keys.push(key),
            Err(error) => {
                refused = Some((key, error));
                break;
            }
        }
    }
    let (key, error) = refused.expect("the disk is full");
    assert_eq!(error.kind(), Kind::DiskFull, "{error}");
    assert!(store.look_up_one(identity(&key)).await.unwrap().is_none());
    for key in &granted_keys {
        assert!(store.look_up_one(identity(key)).await.unwrap().is_some());
    }
    let replay = store.claim_one(request("done")).await.unwrap();
    assert!(
        matches!(replay, ClaimAnswer::Settled(_)),
        "what is done is still told"
    );
    client
        .batch_execute("DROP TABLE filler; CHECKPOINT")
        .await
        .unwrap();
    done(&store, &books.ledger, &key).await;
    let settled = store.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    assert_eq!(books.ledger.count(&key).unwrap(), 1);
    drop((store, client, schema));
    drop(server);
    drop(disk);
}
