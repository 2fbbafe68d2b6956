//! A file with Semel's tables and the user's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::TransactionBehavior::Immediate;
use rusqlite::{Connection, params};
use semel_core::Outcome;
use semel_core::inbox::{Finished, Inbox};
use semel_inbox::{Ctx, Done, Failure};
use semel_sqlite::Config;
use semel_sqlite::inbox::finish_in;

use super::BeforeCommit;

pub(super) fn open(file: &Path) -> Arc<dyn Inbox> {
    Arc::new(Config::new(file).open().unwrap())
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(Duration::from_secs(20))?;
    Ok(connection)
}

pub(super) fn prepare(file: &Path) {
    let connection = connect(file).unwrap();
    connection
        .execute_batch("CREATE TABLE effects (message TEXT NOT NULL)")
        .unwrap();
}

/// The driver blocks, so this has a thread of its own.
pub(super) async fn apply(
    file: PathBuf,
    ctx: Ctx,
    before_commit: BeforeCommit,
) -> Result<Done, Failure> {
    let applied = move || {
        let mut connection = connect(&file)?;
        let tx = connection.transaction_with_behavior(Immediate)?;
        let id = ctx.message().identity().key().as_str();
        if ctx.is_replay() {
            tx.execute("DELETE FROM effects WHERE message = ?1", [id])?;
        }
        tx.execute("INSERT INTO effects (message) VALUES (?1)", params![id])?;
        let finish = ctx.finish(Outcome::succeeded("applied"))?;
        if finish_in(&tx, ctx.plan(), &finish)? == Finished::Lost {
            return Err(Failure::retryable("the claim was lost"));
        }
        before_commit()?;
        tx.commit()?;
        Ok(Done::in_transaction())
    };
    tokio::task::spawn_blocking(applied).await?
}

pub(super) fn rows(file: &Path) -> Vec<String> {
    let connection = connect(file).unwrap();
    let sql = "SELECT message FROM effects ORDER BY rowid";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
