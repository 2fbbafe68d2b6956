//! The shops in front of the pipeline: each sends every order and every change of it until the pipeline takes it, some of them twice, and
//! changes out of order. All shops count their orders from 1, so their ids and versions are the same: the tenant tells them apart.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::{Client, StatusCode};
use semel_testkit::random::Random;
use serde_json::{Value, json};

/// The shops, which are the tenants of the pipeline.
pub(crate) const SHOPS: [&str; 2] = ["north", "south"];
/// How many orders of a shop are under way at the same time.
const SENDERS: u64 = 4;

/// What a shop knows to have sold.
#[derive(Debug, Default)]
pub(crate) struct Sales {
    pub(crate) orders: AtomicU64,
    pub(crate) cents: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) duplicates: AtomicU64,
}

/// Where one shop sends to.
struct Shop<'a> {
    client: Client,
    base: &'a str,
    name: &'a str,
    sales: &'a Sales,
}

/// Sends the orders of one shop until `stop` is set; every order that was begun is sent to its end.
pub(crate) async fn sell(base: &str, name: &str, seed: u64, stop: &AtomicBool, sales: &Sales) {
    let senders = (0..SENDERS).map(|sender| async move {
        let mut random = Random::new(seed ^ (sender << 32));
        let shop = Shop {
            client: Client::new(),
            base,
            name,
            sales,
        };
        let mut number = 0_u64;
        while !stop.load(Ordering::SeqCst) {
            number += 1;
            let order = format!("order-{sender}-{number}");
            let cents = 100 + random.below(100_000);
            shop.sell(&mut random, &order, cents).await;
            sales.orders.fetch_add(1, Ordering::SeqCst);
            sales.cents.fetch_add(cents, Ordering::SeqCst);
        }
    });
    futures_util::future::join_all(senders).await;
}

impl Shop<'_> {
    /// One order, and the three versions that its projection goes through: placed, changed, closed.
    async fn sell(&self, random: &mut Random, order: &str, cents: u64) {
        let placed = json!({ "id": order, "type": "order.placed", "order": order, "cents": cents });
        self.send("orders", &placed).await;
        let mut versions = [1, 2, 3];
        // Fisher and Yates, in one line for three.
        versions.swap(0, usize::try_from(random.below(3)).unwrap_or(0));
        for version in versions {
            let total = if version == 1 { cents / 2 } else { cents };
            let change = json!({
                "id": format!("{order}/{version}"), "type": "order.changed",
                "order": order, "version": version, "cents": total,
            });
            self.send("totals", &change).await;
            if random.chance(20) {
                self.send("totals", &change).await;
            }
        }
        if random.chance(30) {
            self.send("orders", &placed).await;
        }
    }

    /// Sends until the pipeline takes it, whose process may be dead at any moment.
    async fn send(&self, consumer: &str, message: &Value) {
        let url = format!("{}/inbox/{consumer}", self.base);
        loop {
            self.sales.sent.fetch_add(1, Ordering::SeqCst);
            let request = self.client.post(&url).timeout(Duration::from_secs(5));
            let request = request.header("content-type", "application/json");
            let request = request.header("x-shop", self.name);
            let sent = request.body(message.to_string()).send().await;
            match sent.map(|answer| answer.status()) {
                Ok(StatusCode::OK) => {
                    self.sales.duplicates.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                Ok(StatusCode::ACCEPTED) => return,
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}
