//! Starts the pipeline, kills it, starts it again, and in the end lets it catch up.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use semel::Inbox;
use semel_testkit::random::Random;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::books::reconcile;
use crate::feed::{SHOPS, Sales, sell};
use crate::provider::Provider;

/// How long the pipeline has to catch up when it is no longer killed.
const CATCH_UP: Duration = Duration::from_secs(120);

pub(crate) async fn rage(length: Duration, seed: u64) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let database = dir.path().join("pipeline.db");
    let provider = Provider::new(seed);
    let books = TcpListener::bind("127.0.0.1:0").await?;
    let provider_url = format!("http://{}/charges", books.local_addr()?);
    tokio::spawn(axum::serve(books, provider.router()).into_future());
    let address = free_address().await?;
    let pipeline = Pipeline {
        database: &database,
        address,
        provider: &provider_url,
    };
    crate::say(&format!(
        "killing the pipeline for {} s (seed {seed})",
        length.as_secs()
    ));

    let (sales, stop) = (<[Sales; SHOPS.len()]>::default(), AtomicBool::new(false));
    let base = format!("http://{address}");
    let storm = async {
        let killed = pipeline.kill_for(length, seed).await;
        stop.store(true, Ordering::SeqCst);
        let (kills, last) = killed?;
        Ok::<_, Box<dyn Error>>((kills, last))
    };
    let shops = SHOPS.iter().zip(&sales).zip(0_u64..);
    let shops = shops.map(|((name, sales), n)| sell(&base, name, seed + n, &stop, sales));
    let (stormed, _) = tokio::join!(storm, futures_util::future::join_all(shops));
    let (kills, mut last) = stormed?;
    timeout(CATCH_UP, pipeline.caught_up())
        .await
        .map_err(|_| "the pipeline did not catch up")??;
    last.kill().await?;
    crate::say(&reconcile(&database, &sales, &provider.statement(), kills)?);
    Ok(())
}

/// A port that was free a moment ago: the pipeline takes it again after every kill.
async fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").await?.local_addr()
}

struct Pipeline<'a> {
    database: &'a Path,
    address: SocketAddr,
    provider: &'a str,
}

impl Pipeline<'_> {
    /// Kills and restarts for so long; how often, and the process that is left alive.
    async fn kill_for(&self, length: Duration, seed: u64) -> Result<(u32, Child), Box<dyn Error>> {
        let (mut random, mut kills) = (Random::new(seed), 0);
        let end = Instant::now() + length;
        loop {
            let mut child = self.start().await?;
            if Instant::now() >= end {
                return Ok((kills, child));
            }
            sleep(Duration::from_millis(200 + random.below(1_300))).await;
            child.kill().await?;
            kills += 1;
        }
    }

    /// Starts the process and waits until it says that it listens.
    async fn start(&self) -> Result<Child, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("pipeline")
            .args([self.database.as_os_str(), self.address.to_string().as_ref()])
            .arg(self.provider)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut ready = [0];
        let stdout = child.stdout.as_mut().ok_or("no output to read")?;
        stdout.read_exact(&mut ready).await?;
        Ok(child)
    }

    /// Waits until nothing is left to do; an error if something waits for a person.
    async fn caught_up(&self) -> Result<(), Box<dyn Error>> {
        let store = semel::sqlite::Config::new(self.database).open()?;
        loop {
            let counts = store.counts().await?;
            if let Some(stuck) = counts.iter().find(|c| c.parked + c.failed_terminal > 0)
                && counts.iter().all(|c| c.pending() == 0)
            {
                return Err(format!("something waits for a person: {stuck:?}").into());
            }
            if counts.iter().all(|c| c.pending() + c.parked == 0) {
                return Ok(());
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
}
