//! The process that is killed: two consumers, one target for payments, one file.

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use semel::engine::Consumer;
use semel::engine::intents::{Draft, Target};
use semel::engine::policy::retry::{Backoff, Retry};
use semel::engine::source::rule::Locator;
use semel::engine::{Ctx, Done, Engine, Failure, Rule, Running, Webhook, handler_fn};
use semel::inbox::Finished;
use semel::inbox::order::{Baseline, OnGap, OnTerminal, Order};
use semel::sqlite::helpers::{Projection, create_once, upsert_newer};
use semel::sqlite::inbox::finish_in;
use semel::{LeaseTerm, Outcome};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Kills come every second, so a claim of a dead process should not take half a minute to be found.
const LEASE: Duration = Duration::from_secs(2);

/// Serves webhooks until it is killed; says so with one character.
pub(crate) async fn run(
    database: &Path,
    address: SocketAddr,
    provider: &str,
) -> Result<(), Box<dyn Error>> {
    let store = Arc::new(semel::sqlite::Config::new(database).open()?);
    open(database)?.execute_batch(
        "CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, cents INTEGER NOT NULL);
         CREATE TABLE IF NOT EXISTS totals (order_id TEXT PRIMARY KEY, version INTEGER NOT NULL, cents INTEGER NOT NULL);",
    )?;
    let payments = Target::new("payments", provider)?
        .timeout(Duration::from_secs(5))
        .lease(LeaseTerm::new(LEASE)?)
        .retry(patient()?);
    let running = Engine::builder(store)
        .consumer(orders()?, handler(database, note_and_charge))
        .consumer(totals()?, handler(database, project))
        .target(payments)
        .build()?
        .start();
    let router = webhooks(&running)?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    crate::say(".");
    Ok(axum::serve(listener, router).await?)
}

/// Orders run in any order, each by itself.
fn orders() -> Result<Consumer, semel::Error> {
    let mut consumer = Consumer::new("orders".parse()?);
    consumer.lease = LeaseTerm::new(LEASE)?;
    consumer.retry = patient()?;
    Ok(consumer)
}

/// Changes of one order run by their version: older ones are skipped, later ones wait for those that are missing.
fn totals() -> Result<Consumer, semel::Error> {
    let mut consumer = Consumer::new("totals".parse()?);
    consumer.lease = LeaseTerm::new(LEASE)?;
    consumer.retry = patient()?;
    consumer.sequence_required = true;
    consumer.plan.order = Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    Ok(consumer)
}

/// Many attempts with short waits: this is a storm, not a Sunday.
fn patient() -> Result<Retry, semel::Error> {
    let backoff = Backoff {
        first: Duration::from_millis(50),
        max: Duration::from_secs(1),
        ..Backoff::default()
    };
    Retry::new(100, backoff)
}

fn webhooks(running: &Running) -> Result<axum::Router, semel::Error> {
    let mut by_id = Rule::stripe();
    by_id.tenant = Some(Locator::Header("x-shop".to_owned()));
    let mut by_version = by_id.clone();
    by_version.lane = Some(Locator::body("$.order")?);
    by_version.sequence = Some(Locator::body("$.version")?);
    running.router(vec![
        Webhook::new("orders".parse()?).rule(by_id),
        Webhook::new("totals".parse()?).rule(by_version),
    ])
}

#[derive(Debug, Deserialize)]
struct Placed {
    order: String,
    cents: u64,
}

/// The order and the wish to have it charged are in one transaction: there is no moment at which a crash could leave one of them.
fn note_and_charge(connection: &mut Connection, ctx: &Ctx) -> Result<Done, Failure> {
    let placed: Placed = payload(ctx)?;
    let (shop, order) = (shop(ctx), key(ctx, &placed.order));
    let charge = json!({ "shop": shop, "order": placed.order, "cents": placed.cents });
    ctx.send(Draft::json("payments", "charge", &charge)?)?;
    in_transaction(connection, ctx, |tx| {
        let order = ("order_id", &order as _);
        create_once(tx, "orders", order, &[("cents", &placed.cents)]).map(drop)
    })
}

#[derive(Debug, Deserialize)]
struct Changed {
    order: String,
    version: u64,
    cents: u64,
}

/// The projection shows the newest version.
fn project(connection: &mut Connection, ctx: &Ctx) -> Result<Done, Failure> {
    let changed: Changed = payload(ctx)?;
    let order = key(ctx, &changed.order);
    in_transaction(connection, ctx, |tx| {
        let row = Projection {
            table: "totals",
            key: ("order_id", &order),
            version: ("version", changed.version),
        };
        upsert_newer(tx, &row, &[("cents", &changed.cents)]).map(drop)
    })
}

fn shop(ctx: &Ctx) -> &str {
    ctx.message().identity().tenant().as_str()
}

/// Two shops have orders with the same ids.
fn key(ctx: &Ctx, order: &str) -> String {
    format!("{}/{order}", shop(ctx))
}

fn payload<T: DeserializeOwned>(ctx: &Ctx) -> Result<T, Failure> {
    serde_json::from_slice(ctx.message().payload()).map_err(Failure::terminal)
}

/// Effect, intents and the end of the message commit together. A handler that lost the message rolls back.
fn in_transaction(
    connection: &mut Connection,
    ctx: &Ctx,
    effect: impl FnOnce(&Connection) -> semel::Result<()>,
) -> Result<Done, Failure> {
    let finish = ctx.finish(Outcome::succeeded("done"))?;
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(Failure::retryable)?;
    effect(&tx).map_err(Failure::retryable)?;
    match finish_in(&tx, ctx.plan(), &finish).map_err(Failure::retryable)? {
        Finished::Done => tx.commit().map_err(Failure::retryable)?,
        Finished::Lost => return Err(Failure::retryable("another process has the message")),
    }
    Ok(Done::in_transaction())
}

/// A handler with a connection of its own for each message, on a thread that may block.
fn handler(
    database: &Path,
    run: fn(&mut Connection, &Ctx) -> Result<Done, Failure>,
) -> impl semel::engine::Handler {
    let database: Arc<PathBuf> = Arc::new(database.to_owned());
    handler_fn(move |ctx| {
        let database = database.clone();
        async move {
            let handled = tokio::task::spawn_blocking(move || {
                let mut connection = open(&database).map_err(Failure::retryable)?;
                run(&mut connection, &ctx)
            });
            handled.await.map_err(Failure::retryable)?
        }
    })
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}
