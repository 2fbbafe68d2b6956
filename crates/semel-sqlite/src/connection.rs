//! Connections, all opened alike.

use rusqlite::{Connection, OpenFlags};
use semel_core::{Error, Kind, Result};

use crate::config::Config;
use crate::error::from_sqlite;
use crate::schema;

/// Each prepared statement is parsed once per connection.
const STATEMENTS_MAX: usize = 160;

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
    prepare(&connection, config).map_err(|e| from_sqlite("opening the store", e))?;
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(|e| from_sqlite("opening the store", e))?;
    if mode != "wal" {
        // A database in memory, or a file system without shared memory: readers would see nothing.
        let path = config.path.display();
        let message = format!("{path} must allow a write-ahead log, found journal mode {mode:?}");
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(connection)
}

fn prepare(connection: &Connection, config: &Config) -> rusqlite::Result<()> {
    // The page size only counts before the first table of a new file.
    connection.pragma_update(None, "page_size", config.page_bytes)?;
    connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))?;
    connection.pragma_update(None, "synchronous", "full")?;
    // Checkpoints are made by `checkpoint`, off the commit path.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -32_768)?;
    if let Some(bytes) = config.bytes_max {
        let page_bytes: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = (bytes / page_bytes).max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
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
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)
    };
    prepare().map_err(|e| from_sqlite("opening the store for reading", e))?;
    Ok(connection)
}

/// Makes a connection report a lock instead of waiting for it.
pub(crate) fn never_wait(connection: &Connection) -> Result<()> {
    let timeout = connection.busy_timeout(std::time::Duration::ZERO);
    timeout.map_err(|e| from_sqlite("opening the store for reading", e))
}

fn open(config: &Config, flags: OpenFlags) -> Result<Connection> {
    let doing = format!("opening {}", config.path.display());
    let connection =
        Connection::open_with_flags(&config.path, flags).map_err(|e| from_sqlite(&doing, e))?;
    let timeout = connection.busy_timeout(config.busy_timeout);
    timeout.map_err(|e| from_sqlite(&doing, e))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}
