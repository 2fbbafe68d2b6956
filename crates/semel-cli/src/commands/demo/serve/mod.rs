//! `semel demo --serve`: the whole of Semel at work on pretend traffic, with the dashboard in front of it.
//!
//! One process serves what `file` writes down, as `semel serve` would, and beside it plays the world: `customers` at the gateway, the payment
//! `service` behind it (a process that is killed now and then), `producers` of messages, their `handlers` and a mail provider, and two `operators`.
//! It goes on until Ctrl-C, or until its terminal is closed, and then removes its directory.

mod customers;
mod file;
mod handlers;
mod http;
mod operators;
mod producers;
mod service;

pub(super) use service::listen;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use semel_core::{Error, Kind, duration};
use semel_testkit::random::{self, Random};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::process::Service;
use crate::discovery::ConfigPath;
use crate::error::Result;
use crate::output;
use crate::serving::{self, Source};
use crate::stores::StoreArgs;
use customers::Customer;
use file::Ports;
use http::Http;
use producers::Producer;

/// Customers at the same time.
const CUSTOMERS: u64 = 5;
/// So often the service is killed soon after the start, and how long after one another.
const EARLY_KILLS: u64 = 3;
const EARLY_MS: u64 = 1_500;
/// Then it lives so long at least, and so much longer at most.
const LIVES_MS: (u64, u64) = (12_000, 10_000);
/// How far a slow transfer has got when the service is killed under it.
const INTO_TRANSFER: Duration = Duration::from_millis(400);

/// How the demo is served.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Keep going behind the dashboard until Ctrl-C: a gateway, consumers and operators at work
    #[arg(long, conflicts_with_all = ["unguarded", "json", "kills"])]
    serve: bool,

    /// Where the dashboard of `--serve` is [default: 127.0.0.1:7071, or a free port]
    #[arg(long, value_name = "ADDRESS", requires = "serve")]
    admin: Option<SocketAddr>,

    /// End `--serve` by itself after this time
    #[arg(long = "for", value_name = "DURATION", requires = "serve", value_parser = duration::parse)]
    lasts: Option<Duration>,
}

impl ServeArgs {
    pub(crate) const fn is_wanted(&self) -> bool {
        self.serve
    }
}

/// Serves until the process is asked to end, or the time is over.
pub(super) async fn run(args: &ServeArgs, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(random::fresh_seed);
    let dir = super::directory()?;
    let ports = Ports::choose(args.admin)?;
    let path = file::write(dir.path(), &ports)?;
    let source = Source::of_file_alone(ConfigPath::made(path.clone()), &[file::TOKEN]);
    let end = ending(args.lasts)?;
    let world = World::new(&ports, dir.path(), seed).await?;
    let playing = async {
        world.begins().await;
        output::data(&greeting(&ports, &path, seed))?;
        world.play().await
    };
    let cut_off = {
        let dir = dir.path().to_owned();
        // What cannot be removed is litter, not a failure of the demo.
        move || drop(std::fs::remove_dir_all(dir))
    };
    tokio::select! {
        ended = serving::run_until(source, StoreArgs::of_file(), end, cut_off) => ended,
        // It goes on for ever unless it cannot.
        broken = playing => broken,
    }
}

/// When the time is over or the terminal is closed: the demo's file never changes, so SIGHUP does not ask for it again.
fn ending(lasts: Option<Duration>) -> Result<impl Future<Output = ()> + Send + 'static> {
    let mut hangups = signal(SignalKind::hangup()).map_err(super::io)?;
    Ok(async move {
        let over = async {
            match lasts {
                Some(time) => sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => {}
            _ = hangups.recv() => {}
        }
    })
}

/// What a newcomer reads first.
fn greeting(ports: &Ports, file: &Path, seed: u64) -> String {
    let Ports {
        gateway,
        admin,
        inbox,
        ..
    } = ports;
    let file = file.display();
    format!(
        "dashboard  http://{admin}/
gateway    http://{gateway}, in front of a payment service that is killed now and then
messages   http://{inbox}/inbox/order-emails and six other consumers
repeat it  semel demo --serve --seed {seed}
Ctrl-C ends it and removes all it has written.

Try this in another terminal, twice:
  curl -i http://{gateway}/payments -H 'X-Tenant: acme' -H 'Idempotency-Key: mine-1' -d '{{\"amount\": 100}}'
See what waits for a person, and what failed:
  semel keys list --state unknown --config {file}
  semel dlq list --config {file}"
    )
}

/// All that happens to the process from outside.
struct World {
    ports: Ports,
    service: Service,
    random: Random,
    gateway: Http,
    inbox: Http,
    admin: Http,
}

impl World {
    async fn new(ports: &Ports, dir: &Path, seed: u64) -> Result<Self> {
        let token = std::env::var(file::TOKEN).ok();
        let token = token.filter(|token| !token.is_empty());
        let service = Service::start(vec![
            "--dir".into(),
            dir.into(),
            "--http".into(),
            ports.service.to_string().into(),
        ])
        .await?;
        Ok(Self {
            ports: *ports,
            service,
            random: Random::new(seed),
            gateway: Http::to(ports.gateway, None)?,
            inbox: Http::to(ports.inbox, None)?,
            admin: Http::to(ports.admin, token)?,
        })
    }

    /// Waits until the process serves.
    async fn begins(&self) {
        loop {
            let readiness = self.admin.get("/readyz").await;
            if readiness.is_some_and(|said| said["ready"] == true) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Plays until something breaks that cannot.
    async fn play(mut self) -> Result<()> {
        let mut actors = JoinSet::new();
        for number in 0..CUSTOMERS {
            let customer = Customer {
                gateway: self.gateway.clone(),
                random: self.fork(),
                name: number.to_string(),
            };
            actors.spawn(customer.shop());
        }
        actors.spawn(Producer::new(self.inbox.clone(), self.fork()).produce());
        actors.spawn(operators::decide(self.admin.clone(), self.fork()));
        actors.spawn(operators::tidy(self.admin.clone()));
        let handlers = handlers::serve(self.ports.handlers);
        tokio::select! {
            served = handlers => Ok(served?),
            killed = self.kill() => killed,
            _ = actors.join_next() => {
                Err(Error::new(Kind::Internal, "an actor of the demo stopped").into())
            }
        }
    }

    fn fork(&mut self) -> Random {
        Random::new(self.random.below(u64::MAX))
    }

    /// Kills the service in the middle of a transfer, again and again: nothing can know what became of that.
    async fn kill(&mut self) -> Result<()> {
        for number in 0u64.. {
            let (least, spread) = LIVES_MS;
            let lives_ms = match number < EARLY_KILLS {
                true => EARLY_MS,
                false => least + self.random.below(spread),
            };
            sleep(Duration::from_millis(lives_ms)).await;
            let gateway = self.gateway.clone();
            let tenant = usize::try_from(self.random.below(3)).unwrap_or_default();
            tokio::spawn(async move {
                customers::transfer_slowly(&gateway, tenant, number).await;
            });
            sleep(INTO_TRANSFER).await;
            self.service.kill_and_restart().await?;
        }
        Ok(())
    }
}
