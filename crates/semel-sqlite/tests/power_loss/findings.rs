//! A restored store held against what was acknowledged before the power failed.

use std::path::Path;

use rusqlite::Connection;
use semel_core::inbox::{Detail, State as Progress};
use semel_core::store::StoreExt;
use semel_core::{Inbox, Record, State};
use semel_sqlite::SqliteStore;
use semel_testkit::ledger::Ledger;

use crate::account::{Account, Step};
use crate::job::{config, identity_of, message_identity_of, message_of, outcome_of};

/// What is wrong with the store in `dir`.
pub(crate) fn judge(dir: &Path, account: &Account, ledger: &Ledger) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be built");
    let store = match config(dir).open() {
        Ok(store) => store,
        Err(error) => return vec![format!("the store does not open: {error}")],
    };
    let mut wrong = Vec::new();
    for (name, step) in &account.known {
        let found = runtime.block_on(check(&store, name, *step));
        wrong.extend(found.err().map(|why| format!("{name}, {step:?}: {why}")));
        let effects = ledger.count(name).expect("the ledger can be read");
        let expected = match step {
            Step::Settled(_) | Step::Finished(_) => 1..=1,
            _ => 0..=1,
        };
        if !expected.contains(&effects) {
            wrong.push(format!("{name}, {step:?}: {effects} effects"));
        }
    }
    drop(store);
    wrong.extend(integrity(&dir.join("semel.db")).err());
    wrong
}

async fn check(store: &SqliteStore, name: &str, step: Step) -> Result<(), String> {
    match step {
        Step::Received | Step::Took(_) | Step::Finished(_) => {
            let detail = store.message(message_identity_of(name)).await;
            let detail = detail.map_err(|error| error.to_string())?;
            message(name, step, detail.as_ref())
        }
        _ => {
            let record = store.look_up_one(identity_of(name)).await;
            let record = record.map_err(|error| error.to_string())?;
            operation(name, step, record.as_deref())
        }
    }
}

fn operation(name: &str, step: Step, record: Option<&Record>) -> Result<(), String> {
    let fence = record.map(|record| record.fence.get());
    let holds = match step {
        Step::Claimed(claimed) => fence.is_some_and(|fence| fence >= claimed),
        Step::Releasing(claimed) => fence.is_none_or(|fence| fence >= claimed),
        Step::Released(claimed) => fence.is_none_or(|fence| fence > claimed),
        Step::Settled(claimed) => fence == Some(claimed) && is_verbatim(name, record),
        Step::Received | Step::Took(_) | Step::Finished(_) => false,
    };
    let found = || record.map_or("nothing".to_owned(), |record| format!("{record:?}"));
    holds
        .then_some(())
        .ok_or_else(|| format!("found {}", found()))
}

fn is_verbatim(name: &str, record: Option<&Record>) -> bool {
    let state = record.map(|record| &record.state);
    matches!(state, Some(State::Settled(settled)) if settled.outcome == outcome_of(name))
}

fn message(name: &str, step: Step, detail: Option<&Detail>) -> Result<(), String> {
    let Some(detail) = detail else {
        return Err("found nothing".to_owned());
    };
    let whole = detail.message == Some(message_of(name));
    let settled = detail.settled.as_ref();
    let verbatim = settled.is_some_and(|settled| settled.outcome == outcome_of(name));
    let holds = match (step, detail.entry.state) {
        (Step::Received, Progress::Received) => true,
        (Step::Received | Step::Took(_), Progress::InProgress) => true,
        (_, Progress::Completed) => verbatim,
        _ => false,
    };
    (whole && holds)
        .then_some(())
        .ok_or_else(|| format!("found {detail:?}"))
}

/// Whether SQLite finds the file whole.
fn integrity(path: &Path) -> Result<(), String> {
    let said = Connection::open(path).and_then(|connection| {
        connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
    });
    match said {
        Ok(said) if said == "ok" => Ok(()),
        said => Err(format!("the integrity check says {said:?}")),
    }
}
