//! The shop in front of the pipeline: it sends every order and every change of it until somebody takes it, some of them twice, and
//! changes out of order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::{Client, StatusCode};
use semel_testkit::random::Random;
use serde_json::{Value, json};

/// How many orders are under way at the same time.
const SENDERS: u64 = 8;

/// What the shop knows to have sold.
#[derive(Debug, Default)]
pub(crate) struct Sales {
    pub(crate) orders: AtomicU64,
    pub(crate) cents: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) duplicates: AtomicU64,
}

/// Sends orders until `stop` is set; every order that was begun is sent to its end.
pub(crate) async fn sell(base: &str, seed: u64, stop: &AtomicBool, sales: &Sales) {
    let senders = (0..SENDERS).map(|sender| async move {
        let (client, mut random) = (Client::new(), Random::new(seed ^ (sender << 32)));
        let mut number = 0_u64;
        while !stop.load(Ordering::SeqCst) {
            number += 1;
            let order = format!("order-{sender}-{number}");
            let cents = 100 + random.below(100_000);
            sell_one(&client, base, &mut random, (&order, cents), sales).await;
            sales.orders.fetch_add(1, Ordering::SeqCst);
            sales.cents.fetch_add(cents, Ordering::SeqCst);
        }
    });
    futures_util::future::join_all(senders).await;
}

/// One order, and the three versions that its projection goes through: placed, changed, closed.
async fn sell_one(
    client: &Client,
    base: &str,
    random: &mut Random,
    (order, cents): (&str, u64),
    sales: &Sales,
) {
    let placed = json!({ "id": order, "type": "order.placed", "order": order, "cents": cents });
    send(client, &format!("{base}/inbox/orders"), &placed, sales).await;
    let mut versions = [1, 2, 3];
    // Fisher and Yates, in one line for three.
    versions.swap(0, usize::try_from(random.below(3)).unwrap_or(0));
    for version in versions {
        let total = if version == 1 { cents / 2 } else { cents };
        let change = json!({
            "id": format!("{order}/{version}"), "type": "order.changed",
            "order": order, "version": version, "cents": total,
        });
        let url = format!("{base}/inbox/totals");
        send(client, &url, &change, sales).await;
        if random.chance(20) {
            send(client, &url, &change, sales).await;
        }
    }
    if random.chance(30) {
        send(client, &format!("{base}/inbox/orders"), &placed, sales).await;
    }
}

/// Sends until somebody takes it: the pipeline's process may be dead at any moment.
async fn send(client: &Client, url: &str, message: &Value, sales: &Sales) {
    loop {
        sales.sent.fetch_add(1, Ordering::SeqCst);
        let request = client.post(url).timeout(Duration::from_secs(5));
        let body = message.to_string();
        let sent = request
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await;
        match sent.map(|answer| answer.status()) {
            Ok(StatusCode::OK) => {
                sales.duplicates.fetch_add(1, Ordering::SeqCst);
                return;
            }
            Ok(StatusCode::ACCEPTED) => return,
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
