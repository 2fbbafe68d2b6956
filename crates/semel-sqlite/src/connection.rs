//! Connections, all opened alike, and none that could lose a commit.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use semel_core::{Error, Kind, Result};

use crate::config::Config;
use crate::error::{from_io, from_sqlite};
use crate::schema;

/// Each prepared statement is parsed once per connection.
const STATEMENTS_MAX: usize = 160;

/// What a durable commit rests on: a pragma, what SQLite must answer to it, and what it is needed for. SQLite reports no error when a
/// file system or a build keeps a pragma from taking effect.
const DURABLE: [(&str, &str, &str); 3] = [
    (
        "journal_mode",
        "wal",
        "a write-ahead log needs a file on a local file system",
    ),
    ("synchronous", "2", "a commit must be synced"),
    (
        "fullfsync",
        "1",
        "a sync must empty the disk's cache on macOS too",
    ),
];

/// Options of SQLite's build that leave out syncs whatever the pragmas say.
const BUILT_WITHOUT_SYNC: [&str; 2] = ["NO_SYNC", "DISABLE_DIRSYNC"];

/// A connection that may write.
pub(crate) fn writable(config: &Config) -> Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if config.create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    } else if !config.path.exists() {
        let path = config.path.display();
        let message = format!("the store {path} does not exist");
        return Err(Error::new(Kind::Invalid, message));
    }
    let connection = open(config, flags)?;
    schema::check(&connection, config)?;
    prepare(&connection, config).map_err(|e| without_log(config, e))?;
    require_durable(&connection, config)?;
    Ok(connection)
}

fn prepare(connection: &Connection, config: &Config) -> rusqlite::Result<()> {
    // The page size only counts before the first table of a new file.
    connection.pragma_update(None, "page_size", config.page_bytes)?;
    use_log(connection, config.busy_timeout)?;
    sync_fully(connection)?;
    // Checkpoints are made by `checkpoint`, off the commit path.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // A log that has grown behind a slow reader becomes small again when it starts over.
    let wal_bytes = i64::try_from(config.wal_bytes).unwrap_or(i64::MAX);
    connection.pragma_update_and_check(None, "journal_size_limit", wal_bytes, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -32_768)?;
    if let Some(bytes) = config.bytes_max {
        let page_bytes: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = (bytes / page_bytes).max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

/// Gives a new file its log. While another connection does the same SQLite does not wait for the lock but refuses, so the waiting is done here.
fn use_log(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    loop {
        let set = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        let is_busy =
            |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        if waited >= patience || !set.as_ref().is_err_and(is_busy) {
            return set;
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

/// Readers too: the last connection to close copies the log into the file.
fn sync_fully(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "fullfsync", true)
}

/// Refuses a connection whose commits could be lost.
fn require_durable(connection: &Connection, config: &Config) -> Result<()> {
    let failed = |e| from_sqlite("opening the store", e);
    let refused = |expected: String| {
        let path = config.path.display();
        let message = format!("{path} cannot be a durable store: expected {expected}");
        Err(Error::new(Kind::Invalid, message))
    };
    for (pragma, expected, why) in DURABLE {
        let found = connection.pragma_query_value(None, pragma, |row| Ok(text_of(row.get_ref(0)?)));
        let found = found.map_err(failed)?;
        if found != expected {
            return refused(format!("{pragma} {expected}, found {found} ({why})"));
        }
    }
    let mut found = None;
    let options = connection.pragma_query(None, "compile_options", |row| {
        let option = text_of(row.get_ref(0)?);
        if BUILT_WITHOUT_SYNC.contains(&option.as_str()) {
            found = Some(option);
        }
        Ok(())
    });
    options.map_err(failed)?;
    found.map_or(Ok(()), |option| {
        refused(format!(
            "a SQLite that syncs, found one built with {option}"
        ))
    })
}

/// Some pragmas answer with a word and some with a number.
fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
}

/// How much of the file a connection for look-ups keeps in memory, in KiB. Replays look up all over
/// the file; a page that is found here costs no system call. There are a few such connections, and
/// callers use the first of them most.
const CACHE_KIB: i32 = 32 * 1024;

/// A connection for look-ups. It may not be opened read-only: a reader must be able to
/// recover the log of a process that died.
pub(crate) fn reading(config: &Config) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(config, flags)?;
    let prepare = || {
        sync_fully(&connection)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)
    };
    prepare().map_err(|e| from_sqlite("opening the store for reading", e))?;
    require_durable(&connection, config)?;
    Ok(connection)
}

/// Makes a connection report a lock instead of waiting for it.
pub(crate) fn never_wait(connection: &Connection) -> Result<()> {
    let timeout = connection.busy_timeout(Duration::ZERO);
    timeout.map_err(|e| from_sqlite("opening the store for reading", e))
}

/// Opens are ordered within a process: a file that is created is closed once before SQLite opens it, which would drop the locks
/// of a connection that was quicker.
static OPENING: Mutex<()> = Mutex::new(());

fn open(config: &Config, flags: OpenFlags) -> Result<Connection> {
    let _ordered = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let doing = format!("opening {}", config.path.display());
    if flags.contains(OpenFlags::SQLITE_OPEN_CREATE) {
        create_private(&config.path).map_err(|e| from_io(&doing, e))?;
    }
    let connection = Connection::open_with_flags(&config.path, flags)
        .map_err(|error| could_not_open(config, &doing, error))?;
    let timeout = connection.busy_timeout(config.busy_timeout);
    timeout.map_err(|e| from_sqlite(&doing, e))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

/// Creates a file that only its owner can read, because it will hold the bodies of responses; SQLite gives the files beside it the same
/// mode. One that exists stays as it is.
fn create_private(path: &Path) -> io::Result<()> {
    if path.as_os_str() == ":memory:" {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// SQLite does not say why a file cannot be opened; the system does.
fn could_not_open(config: &Config, doing: &str, error: rusqlite::Error) -> Error {
    // Where SQLite could not open the file, this cannot either, so no lock is dropped by closing it.
    match std::fs::File::open(&config.path) {
        Err(io) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => from_io(doing, io),
        _ => from_sqlite(doing, error),
    }
}

/// The file is open; what cannot be opened then is the log beside it.
fn without_log(config: &Config, error: rusqlite::Error) -> Error {
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return from_sqlite("opening the store", error);
    }
    let path = config.path.display();
    let message =
        format!("the files beside {path} cannot be opened or created, permission denied?");
    Error::new(Kind::ReadOnly, message).caused_by(error)
}
