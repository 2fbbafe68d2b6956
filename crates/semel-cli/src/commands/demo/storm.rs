//! The storm: customers that insist, repeat, race and hang up, while the service is killed under them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use semel_core::{Error, Kind, Result};
use semel_testkit::random::Random;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::line::{Payment, Reply};
use super::process::Service;
use super::tally::Counts;

/// Customers at the same time.
const CUSTOMERS: usize = 24;
/// The most payments of one storm.
const PAYMENTS_MAX: usize = 20_000;
/// How often a customer insists before the demo has failed.
const INSIST_MAX: usize = 500;
/// How long a customer waits for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// A storm about to break loose.
pub(super) struct Storm {
    service: Service,
    random: Random,
    kills: u32,
    shared: Arc<Shared>,
    address: watch::Sender<SocketAddr>,
}

#[derive(Default)]
struct Shared {
    counts: Counts,
    next: AtomicUsize,
    calm: AtomicBool,
}

impl Storm {
    pub(super) fn new(service: Service, seed: u64, kills: u32) -> Self {
        let (address, _) = watch::channel(service.address());
        Self {
            service,
            random: Random::new(seed),
            kills,
            shared: Arc::default(),
            address,
        }
    }

    /// Kills the service as often as asked while customers pay; then lets every customer finish.
    pub(super) async fn rage(mut self, progress: &ProgressBar) -> Result<Counts> {
        let mut customers = JoinSet::new();
        for _ in 0..CUSTOMERS {
            let customer = Customer {
                shared: self.shared.clone(),
                address: self.address.subscribe(),
                random: Random::new(self.random.below(u64::MAX)),
            };
            customers.spawn(customer.shop());
        }
        for _ in 0..self.kills {
            sleep(Duration::from_millis(250 + self.random.below(500))).await;
            self.service.kill_and_restart().await?;
            self.address.send_replace(self.service.address());
            self.shared.counts.kills.fetch_add(1, Ordering::Relaxed);
            progress.inc(1);
            progress.set_message(self.shared.counts.in_words());
        }
        self.shared.calm.store(true, Ordering::Relaxed);
        while let Some(customer) = customers.join_next().await {
            customer
                .map_err(|e| Error::new(Kind::Internal, "a customer panicked").caused_by(e))??;
        }
        let shared = Arc::into_inner(self.shared);
        let shared = shared.ok_or_else(|| Error::new(Kind::Internal, "a customer is left over"))?;
        shared
            .counts
            .distinct
            .store(shared.next.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(shared.counts)
    }
}

struct Customer {
    shared: Arc<Shared>,
    address: watch::Receiver<SocketAddr>,
    random: Random,
}

impl Customer {
    /// Makes payments, one after another, each in one of the ways in which customers misbehave.
    async fn shop(mut self) -> Result<()> {
        while !self.shared.calm.load(Ordering::Relaxed) {
            let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
            let payment = Payment::number(number);
            match self.random.below(4) {
                0 => self.insist(&payment).await?,
                1 => {
                    self.insist(&payment).await?;
                    self.insist(&payment).await?;
                }
                2 => self.race(&payment).await?,
                _ => {
                    self.hang_up(&payment).await;
                    self.insist(&payment).await?;
                }
            }
            if number >= PAYMENTS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Sends the same payment until it is answered: what every good client does.
    async fn insist(&self, payment: &Payment) -> Result<()> {
        for _ in 0..INSIST_MAX {
            match self.send(payment).await {
                Ok(Some(Reply::Paid)) => return Ok(()),
                Ok(Some(Reply::Replayed)) => {
                    self.shared.counts.replayed.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                Ok(Some(Reply::Later) | None) | Err(_) => sleep(Duration::from_millis(40)).await,
            }
        }
        let message = format!("{} got no answer after {INSIST_MAX} tries", payment.key);
        Err(Error::new(Kind::Unavailable, message))
    }

    /// The same payment several times at once.
    async fn race(&self, payment: &Payment) -> Result<()> {
        let (a, b, c) = tokio::join!(
            self.insist(payment),
            self.insist(payment),
            self.insist(payment)
        );
        a.and(b).and(c)
    }

    /// Sends a payment and is gone before the answer.
    async fn hang_up(&self, payment: &Payment) {
        if let Ok(stream) = self.ask(payment).await {
            self.shared.counts.hang_ups.fetch_add(1, Ordering::Relaxed);
            drop(stream);
        }
    }

    /// One try: the reply, or nothing if the connection ended before one came.
    async fn send(&self, payment: &Payment) -> io::Result<Option<Reply>> {
        let stream = self.ask(payment).await?;
        let mut line = String::new();
        timeout(ANSWER_WITHIN, BufReader::new(stream).read_line(&mut line)).await??;
        Ok(Reply::parse(&line))
    }

    async fn ask(&self, payment: &Payment) -> io::Result<TcpStream> {
        let address = *self.address.borrow();
        let mut stream = timeout(ANSWER_WITHIN, TcpStream::connect(address)).await??;
        stream.write_all(payment.to_string().as_bytes()).await?;
        self.shared.counts.requests.fetch_add(1, Ordering::Relaxed);
        Ok(stream)
    }
}
