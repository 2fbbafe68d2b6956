//! The wire breaks, at every point of a message.

use semel_sqlx::{Consumer, Message, Processed};
use semel_testkit::proxy::Proxy;
use sqlx::{PgPool, Postgres, Transaction};
use tokio::time::timeout;

use crate::support::{Account, PATIENCE, run, url};

/// Where the server listens, and its URL with a place for another address.
fn address(
    url: &str,
) -> (
    std::net::SocketAddr,
    impl Fn(std::net::SocketAddr) -> String,
) {
    let (before, rest) = url.split_once('@').expect("a URL with a user");
    let (host, path) = rest.split_once('/').expect("a URL with a database");
    let address = host.parse().expect("tests use loopback addresses");
    (address, move |other| format!("{before}@{other}/{path}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_takes_effect_once_wherever_its_connection_is_cut() {
    let account = Account::new().await;
    let url = url();
    let (server, through) = address(&url);
    let proxy = Proxy::start(server).await;
    let pool = account.schema.pool_at(&through(proxy.addr()), 1).await;
    let scope = "deposits@1".parse().unwrap();
    let consumer = Consumer::new(pool.clone(), &account.schema.config(), scope);
    let handler = async |tx: &mut Transaction<'_, Postgres>| run(&account.deposit, tx).await;
    let (mut messages, mut looked_up) = (0, 0);
    for bytes in (0..4_000).step_by(7) {
        let message = Message::new(&bytes.to_string()).unwrap();
        one_idle(&pool).await;
        let connections = proxy.counts().connections;
        proxy.cut_after(bytes);
        let first = consumer.process(&message, handler).await;
        // A message that is done needs another connection only to look up what its commit came to.
        let has_looked_up = proxy.counts().connections > connections;
        proxy.resume();
        messages += 1;
        match &first {
            Processed::Done(1) => looked_up += usize::from(has_looked_up),
            // The handler's own statement fails when the connection does.
            Processed::Unavailable(_) | Processed::Retry(_) => {
                let again = consumer.process(&message, handler).await;
                assert!(
                    matches!(again, Processed::Done(1)),
                    "cut after {bytes}: {again:?}"
                );
            }
            other => panic!("cut after {bytes}: {other:?}"),
        }
        assert_eq!(
            account.cents().await,
            messages * 100,
            "cut after {bytes}: {first:?}"
        );
        if matches!(first, Processed::Done(_)) && !has_looked_up {
            break;
        }
    }
    assert!(messages > 20, "expected many cuts, found {messages}");
    assert!(looked_up > 0, "expected a commit whose answer was lost");
}

/// A connection goes back to its pool in the background, and a cut must not hit that.
async fn one_idle(pool: &PgPool) {
    drop(pool.acquire().await.expect("the server answers"));
    let idle = async {
        while pool.num_idle() < 1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, idle)
        .await
        .expect("a connection comes back");
}
