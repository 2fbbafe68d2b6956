//! What the store says when it is opened where it cannot be durable.

use std::io::{self, Read, Write};
use std::path::Path;

use rusqlite::Connection;
use semel_core::store::{ClaimAnswer, ClaimRequest, StoreExt, Takeover};
use semel_core::{Fingerprint, LeaseTerm};
use semel_powerloss::{Fault, Moment};

use crate::history::start;
use crate::job::{Job, Task, config, identity_of, live, workplace};

/// What lies on the disk, what is wrong with the machine, and what opening the store must say.
const TABLE: [(File, Fault, &str); 6] = [
    (
        File::None,
        Fault::Normal,
        "cannot be a durable store: expected synchronous 2, found 1 (a commit must be synced)",
    ),
    (
        File::None,
        Fault::NoSharedMemory,
        "cannot be a durable store: expected journal_mode wal, found delete \
         (a write-ahead log needs a file on a local file system)",
    ),
    (
        File::WithoutLog,
        Fault::ReadOnly,
        "sqlite, opening the store (the file or its directory cannot be written)",
    ),
    (
        File::None,
        Fault::BuiltWithoutSync,
        "cannot be a durable store: expected a SQLite that syncs, found one built with NO_SYNC",
    ),
    (
        File::None,
        Fault::BuiltWithoutDirectorySync,
        "cannot be a durable store: expected a SQLite that syncs, found one built with DISABLE_DIRSYNC",
    ),
    // To look needs no right to write.
    (
        File::WithLog,
        Fault::ReadOnly,
        "opened, look-up finds nothing, a claim is read-only",
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    None,
    WithLog,
    WithoutLog,
}

/// What was said where something else was expected.
pub(crate) fn wrong() -> Vec<String> {
    let rows = TABLE.iter();
    let wrong = rows.filter_map(|(file, fault, expected)| {
        let said = said(*file, *fault);
        let at = format!("{} with {file:?}", fault.name());
        (!said.contains(expected)).then(|| format!("{at}: expected {expected:?}, found {said:?}"))
    });
    wrong.collect()
}

fn said(file: File, fault: Fault) -> String {
    let dir = workplace();
    prepare(file, &live(dir.path()));
    let mut worker = start(&Job {
        root: dir.path().to_owned(),
        task: Task::Open,
        moment: Moment::Any,
        nth: u64::MAX,
        seed: 0,
        fault: Some(fault),
    });
    let mut said = String::new();
    let stdout = worker.stdout.as_mut().expect("standard output is piped");
    stdout
        .read_to_string(&mut said)
        .expect("a worker says text");
    worker.wait().expect("a worker ends");
    said
}

fn prepare(file: File, dir: &Path) {
    if file == File::None {
        return;
    }
    drop(config(dir).open().expect("a healthy store opens"));
    if file == File::WithoutLog {
        let connection = Connection::open(dir.join("semel.db")).expect("the file opens");
        let mode = connection.pragma_update(None, "journal_mode", "delete");
        mode.expect("the file can do without its log");
    }
}

/// The worker's part: opens the store and says what came of it.
pub(crate) fn open(job: &Job) {
    semel_powerloss::install(job.plan(), |_| {});
    let said = match config(&live(&job.root)).open() {
        Err(error) => error.to_string(),
        Ok(store) => looked(&store),
    };
    let written = io::stdout().lock().write_all(said.as_bytes());
    written.expect("the supervisor listens");
}

fn looked(store: &semel_sqlite::SqliteStore) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be built");
    let identity = identity_of("operation-1");
    let found = runtime.block_on(store.look_up_one(identity.clone()));
    let claimed = runtime.block_on(store.claim_one(ClaimRequest {
        identity,
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }));
    let found = match found {
        Ok(None) => "look-up finds nothing".to_owned(),
        found => format!("look-up finds {found:?}"),
    };
    let claimed = match claimed {
        Err(error) if error.kind() == semel_core::Kind::ReadOnly => {
            "a claim is read-only".to_owned()
        }
        Ok(ClaimAnswer::Granted(_)) => "a claim is granted".to_owned(),
        claimed => format!("a claim is answered {claimed:?}"),
    };
    format!("opened, {found}, {claimed}")
}
