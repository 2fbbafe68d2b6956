//! The pretend payment service: the process that the demo kills.
//!
//! With Semel, a payment is `once.run(charge)`, and a provider that is asked about unknown outcomes.
//! Without, it does what many services do: look whether the payment was seen, note it, charge.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use semel_core::once::Reconciled;
use semel_core::{
    Error, Fence, Fingerprint, Identity, InProgress, Kind, LeaseTerm, OnFailure, Once, Outcome,
    Policy, Result,
};
use semel_sqlite::Config;
use semel_testkit::ledger::{Effect, Ledger};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::line::{Payment, Reply};

/// The store's file in the demo's directory.
pub(super) const STORE: &str = "semel.db";
/// Short, so that the demo need not wait long for what a killed service left.
const LEASE: Duration = Duration::from_millis(400);
/// The longest line that the service reads, in bytes.
const LINE_BYTES_MAX: u64 = 256;

/// How the demo starts its service.
#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// Where ledger and store are
    #[arg(long)]
    dir: PathBuf,

    /// Charge without Semel
    #[arg(long)]
    unguarded: bool,

    /// Speak HTTP at this address, behind a gateway
    #[arg(long)]
    http: Option<SocketAddr>,
}

/// Serves until standard input ends; `ready` is told the address.
pub(super) async fn run(
    args: &ServiceArgs,
    ready: impl FnOnce(String) -> crate::error::Result<()>,
) -> crate::error::Result<()> {
    if let Some(address) = args.http {
        let (bound, serving) = super::serve::listen(address).await?;
        ready(bound.to_string())?;
        tokio::spawn(serving);
        return until_stdin_ends().await;
    }
    let failed = |e| Error::new(Kind::Unavailable, "the demo's service cannot listen").caused_by(e);
    let service = Arc::new(PaymentService::open(&args.dir, args.unguarded)?);
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    ready(listener.local_addr().map_err(failed)?.to_string())?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            // A customer that hung up is no concern of the service.
            tokio::spawn(async move { drop(service.serve(stream).await) });
        }
    });
    until_stdin_ends().await
}

async fn until_stdin_ends() -> crate::error::Result<()> {
    let mut nothing = Vec::new();
    let ended = tokio::io::stdin().read_to_end(&mut nothing).await;
    ended.map(drop).map_err(|e| unavailable(e).into())
}

struct PaymentService {
    guard: Guard,
    provider: Ledger,
}

enum Guard {
    Semel(Once),
    /// The directory where the home-made guard notes what it has seen.
    HomeMade(PathBuf),
}

impl PaymentService {
    fn open(dir: &Path, unguarded: bool) -> Result<Self> {
        let provider = Ledger::open(dir.join("provider")).map_err(unavailable)?;
        let guard = if unguarded {
            let seen = dir.join("seen");
            std::fs::create_dir_all(&seen).map_err(unavailable)?;
            Guard::HomeMade(seen)
        } else {
            Guard::Semel(once(dir, &provider)?)
        };
        Ok(Self { guard, provider })
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let (reading, mut writing) = stream.into_split();
        let mut line = String::new();
        BufReader::new(reading)
            .take(LINE_BYTES_MAX)
            .read_line(&mut line)
            .await?;
        let Some(payment) = Payment::parse(&line) else {
            return Ok(());
        };
        let reply = match &self.guard {
            Guard::Semel(once) => self.pay_once(once, payment).await,
            Guard::HomeMade(seen) => self.pay_home_made(seen, &payment).await?,
        };
        writing.write_all(reply.line().as_bytes()).await
    }

    /// What a service does with Semel.
    async fn pay_once(&self, once: &Once, payment: Payment) -> Reply {
        let provider = self.provider.clone();
        let Ok(identity) = Identity::parse("demo", "payments@1", &payment.key) else {
            return Reply::Later;
        };
        let asked = Fingerprint::of_bytes(&payment.cents.to_le_bytes());
        let charged = once
            .operation(identity, asked)
            .run_classified(
                |_: &String| OnFailure::Unknown,
                move |run| async move { charge(&provider, &payment, run.fence()).await },
            )
            .await;
        match charged {
            Ok(answer) if answer.replayed => Reply::Replayed,
            Ok(_) => Reply::Paid,
            Err(_) => Reply::Later,
        }
    }

    /// What a service does without: look, note, charge. Two duplicates may both look before one
    /// notes, and a crash after the note loses the payment for ever.
    async fn pay_home_made(&self, seen: &Path, payment: &Payment) -> io::Result<Reply> {
        let note = seen.join(&payment.key);
        if note.exists() {
            return Ok(Reply::Replayed);
        }
        work(3).await;
        std::fs::write(&note, [])?;
        work(20).await;
        self.provider.effect(&payment.key, 0)?;
        work(20).await;
        Ok(Reply::Paid)
    }
}

/// The effect: money moves at the provider.
async fn charge(provider: &Ledger, payment: &Payment, fence: Fence) -> Result<String, String> {
    work(20).await;
    match provider.effect_unless_barred(&payment.key, fence.get()) {
        Ok(Effect::Done) => {}
        other => return Err(format!("the provider answered {other:?}")),
    }
    work(20).await;
    Ok(receipt(&payment.key))
}

fn receipt(key: &str) -> String {
    format!("receipt for {key}")
}

/// Real services take their time; kills land in it.
async fn work(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn once(dir: &Path, provider: &Ledger) -> Result<Once> {
    let store = Config::new(dir.join(STORE)).open()?;
    let policy = Policy {
        lease: LeaseTerm::new(LEASE)?,
        in_progress: InProgress::Wait(Duration::from_secs(1)),
        ..Policy::default()
    };
    let provider = provider.clone();
    let ask = move |identity: Identity, fence: Fence| {
        let key = identity.key().as_str().to_owned();
        let answer = provider.ask(&key, fence.get());
        async move {
            match answer {
                Ok(true) => {
                    Reconciled::Happened(Outcome::succeeded(format!("{:?}", receipt(&key))))
                }
                Ok(false) => Reconciled::DidNotHappen,
                Err(_) => Reconciled::CannotTell,
            }
        }
    };
    Ok(Once::new(store).with_policy(policy).reconcile_with(ask))
}

fn unavailable(error: io::Error) -> Error {
    Error::new(Kind::Unavailable, "the demo cannot use its directory").caused_by(error)
}
