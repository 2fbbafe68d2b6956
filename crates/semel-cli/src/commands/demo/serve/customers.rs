//! Customers at the gateway: a gentle storm without end. Each pays once and asks in one of the ways in which clients misbehave.

use std::time::Duration;

use semel_testkit::random::Random;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::http::Http;

/// Who the customers belong to.
const TENANTS: [&str; 3] = ["acme", "globex", "initech"];

/// One customer, who never stops.
pub(super) struct Customer {
    pub(super) gateway: Http,
    pub(super) random: Random,
    /// What tells the keys of this customer from those of all others.
    pub(super) name: String,
}

/// One operation, as often as it is sent.
struct Asked {
    path: &'static str,
    tenant: &'static str,
    key: String,
    amount: u64,
}

impl Customer {
    pub(super) async fn shop(mut self) {
        for number in 0u64.. {
            let asked = self.choose(number);
            match self.random.below(10) {
                0..=3 => self.send(&asked).await,
                4..=5 => {
                    self.send(&asked).await;
                    sleep(Duration::from_millis(200 + self.random.below(3_000))).await;
                    self.send(&asked).await;
                }
                6..=7 => {
                    tokio::join!(self.send(&asked), self.send(&asked), self.send(&asked));
                }
                8 => {
                    self.hang_up(&asked).await;
                    self.send(&asked).await;
                }
                _ => {
                    self.send(&asked).await;
                    let amount = asked.amount + 1;
                    self.send(&Asked { amount, ..asked }).await;
                }
            }
            sleep(Duration::from_millis(400 + self.random.below(1_200))).await;
        }
    }

    fn choose(&mut self, number: u64) -> Asked {
        let path = match self.random.below(10) {
            0..=5 => "/payments",
            6 => "/transfers",
            // The first operation of each customer shows what observing finds.
            _ => "/refunds",
        };
        Asked {
            path,
            tenant: TENANTS[usize::try_from(self.random.below(3)).unwrap_or_default()],
            key: format!("order-{}-{number}", self.name),
            amount: 100 + self.random.below(99_900),
        }
    }

    async fn send(&self, asked: &Asked) {
        send(&self.gateway, asked, false).await;
    }

    /// Sends it and closes the connection before the answer.
    async fn hang_up(&self, asked: &Asked) {
        let _ = timeout(Duration::from_millis(15), self.send(asked)).await;
    }
}

/// Sends one slow transfer, during which the service is killed.
pub(super) async fn transfer_slowly(gateway: &Http, tenant: usize, number: u64) {
    let asked = Asked {
        path: "/transfers",
        tenant: TENANTS[tenant % TENANTS.len()],
        key: format!("transfer-{number}"),
        amount: 5_000 + number % 5_000,
    };
    send(gateway, &asked, true).await;
}

async fn send(gateway: &Http, asked: &Asked, slow: bool) {
    let headers = [
        ("idempotency-key", asked.key.as_str()),
        ("x-tenant", asked.tenant),
    ];
    let body = json!({ "amount": asked.amount, "currency": "EUR", "slow": slow });
    // Whatever the answer is, the dashboard shows it.
    let _ = gateway.post(asked.path, &headers, body.to_string()).await;
}
