//! Producers of messages: most are handled at once, and each kind of trouble comes now and then.

use std::collections::BTreeMap;
use std::time::Duration;

use semel_testkit::random::Random;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::http::Http;

/// So long a version of an article is withheld, and those after it wait.
const WITHHELD: Duration = Duration::from_secs(25);
/// The accounts and the articles that messages are about; each is a lane.
const ACCOUNTS: u64 = 6;
const ARTICLES: u64 = 3;

/// One producer of all kinds of messages.
pub(super) struct Producer {
    pub(super) inbox: Http,
    pub(super) random: Random,
    /// The last version of each article.
    pub(super) versions: BTreeMap<u64, u64>,
    /// The version that is withheld, and since when.
    pub(super) withheld: Option<(Value, Instant)>,
}

impl Producer {
    pub(super) fn new(inbox: Http, random: Random) -> Self {
        Self {
            inbox,
            random,
            versions: BTreeMap::new(),
            withheld: None,
        }
    }

    pub(super) async fn produce(mut self) {
        for number in 0u64.. {
            self.order(number).await;
            self.invoice(number).await;
            self.entry(number).await;
            self.stock(number).await;
            self.others(number).await;
            sleep(Duration::from_millis(500 + self.random.below(700))).await;
        }
    }

    /// A number of the round when something happens: soon after the start, so that a newcomer sees it, and then now and then.
    fn now_and_then(&mut self, number: u64, first: u64, percent: u64) -> bool {
        number == first || (number > first && self.random.chance(percent))
    }

    async fn order(&mut self, number: u64) {
        let mail = match self.random.below(20) {
            _ if number == 2 => "bounced",
            0 => "bounced",
            1..=2 => "greylisted",
            _ => "sent",
        };
        let order = json!({ "id": format!("order-{number}"), "type": "order.placed", "to": "ada@example.org", "mail": mail });
        self.send("order-emails", &order).await;
        if self.now_and_then(number, 1, 15) {
            // The broker delivers it again.
            self.send("order-emails", &order).await;
        }
    }

    async fn invoice(&mut self, number: u64) {
        let fate = match number {
            1 => "broken",
            2 => "rejected",
            3 => "busy",
            _ => match self.random.below(60) {
                0 => "broken",
                1 => "rejected",
                2 => "busy",
                _ => "done",
            },
        };
        let id = format!("invoice-{number}");
        let invoice = json!({ "id": id, "type": "invoice.due", "fate": fate });
        self.send("invoices", &invoice).await;
        if self.now_and_then(number, 4, 1) {
            let other = json!({ "id": id, "type": "invoice.due", "total": number });
            self.send("invoices", &other).await;
        }
    }

    /// Entries of one account run in their order; one that failed keeps those behind it from running.
    async fn entry(&mut self, number: u64) {
        let account = self.random.below(ACCOUNTS);
        let fate = match self.now_and_then(number, 2, 1) {
            true => "gone",
            false => "done",
        };
        let entry = json!({ "id": format!("entry-{number}"), "type": "entry.booked", "account": format!("account-{account}"), "fate": fate });
        self.send("ledger-entries", &entry).await;
    }

    /// A version of an article now and then comes long after those behind it.
    async fn stock(&mut self, number: u64) {
        let article = number % ARTICLES;
        let version = self.versions.entry(article).or_default();
        *version += 1;
        let changed = json!({ "id": format!("stock-{article}-{version}"), "type": "stock.changed", "article": format!("article-{article}"), "version": *version });
        // A lane begins with whatever comes first, so that the first version is never missing.
        let may_be_late = *version > 1 && (*version == 2 || self.random.chance(15));
        match self.withheld.take() {
            None if may_be_late => {
                self.withheld = Some((changed, Instant::now()));
            }
            Some((late, since)) if since.elapsed() >= WITHHELD => {
                self.send("stock-levels", &late).await;
                self.send("stock-levels", &changed).await;
            }
            withheld => {
                self.withheld = withheld;
                self.send("stock-levels", &changed).await;
            }
        }
    }

    async fn others(&mut self, number: u64) {
        let indexed = json!({ "id": format!("article-{number}"), "type": "article.changed" });
        self.send("search-index", &indexed).await;
        if number.is_multiple_of(3) {
            let points = json!({ "id": format!("points-{number}"), "type": "points.earned" });
            self.send("loyalty-points", &points).await;
        }
        let silent = self.now_and_then(number, 1, 1);
        let fate = if silent { "silent" } else { "done" };
        let payout =
            json!({ "id": format!("payout-{number}"), "type": "payout.ordered", "fate": fate });
        self.send("payouts", &payout).await;
    }

    async fn send(&self, consumer: &str, message: &Value) {
        self.post(consumer, message.to_string()).await;
    }

    async fn post(&self, consumer: &str, body: String) {
        // A message that is refused, because too many wait, is one that the demo can do without.
        let _ = self
            .inbox
            .post(&format!("/inbox/{consumer}"), &[], body)
            .await;
    }
}
