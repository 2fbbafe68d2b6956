//! The tables: made once, brought up to date by whoever comes first, never touched by an older version.

use std::time::Duration;

use semel_core::{Error, Kind, Result};

use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::sql;

/// Each step brings the tables to the version that is its place in this list, counted from 1.
const MIGRATIONS: [&str; 8] = [
    include_str!("../migrations/0001_records.sql"),
    include_str!("../migrations/0002_inbox.sql"),
    include_str!("../migrations/0003_sweep.sql"),
    include_str!("../migrations/0004_lanes.sql"),
    include_str!("../migrations/0005_known.sql"),
    include_str!("../migrations/0006_positions.sql"),
    include_str!("../migrations/0007_edits.sql"),
    include_str!("../migrations/0008_erased.sql"),
];

/// The version that this build works with.
const VERSION: i64 = MIGRATIONS.len() as i64;

/// How long the tables may take, and how long others wait for the process that brings them up to date: a large table takes its time.
const PATIENCE: Duration = Duration::from_secs(6 * 60 * 60);

/// Makes the tables or brings them up to date. Many processes may do so at once: one of them does it.
pub(crate) async fn migrate(engine: &Engine, link: &mut Link, create: bool) -> Result<()> {
    let failed = |failure: Failure| failure.into_error("bringing the tables up to date");
    let found = version(engine, link).await.map_err(failed)?;
    if check(found, create)? {
        return Ok(());
    }
    link.begin().await.map_err(failed)?;
    let migrated = migrate_alone(engine, link).await;
    link.end(migrated).await.map_err(failed)
}

async fn migrate_alone(engine: &Engine, link: &mut Link) -> Result<(), Failure> {
    let schema = &engine.schema;
    // Others wait here until the tables are made, however long that takes.
    link.run("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
        .await?;
    let turn =
        format!("SELECT pg_advisory_xact_lock(hashtextextended('semel tables {schema}', 0))");
    link.run_for(PATIENCE, &turn).await?;
    let found = version(engine, link).await?;
    check(found, true)?;
    if !exists(engine, link).await? {
        link.run(&format!("CREATE SCHEMA {schema}")).await?;
    }
    for (step, template) in (1..)
        .zip(MIGRATIONS)
        .skip(usize::try_from(found).unwrap_or(0))
    {
        link.run_for(PATIENCE, &sql::text(schema, template)).await?;
        let note = format!(
            "INSERT INTO {{s}}semel_meta (name, value) VALUES ('schema_version', {step}) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        );
        link.run(&sql::text(schema, &note)).await?;
    }
    Ok(())
}

/// Whether the tables are as this build needs them; an error if that cannot come about.
fn check(found: i64, create: bool) -> Result<bool> {
    if found > VERSION {
        let message = format!(
            "the tables have version {found}, this build of semel knows up to {VERSION}: use a newer one"
        );
        return Err(Error::new(Kind::NewerVersion, message));
    }
    if found == 0 && !create {
        let message = "there is no store in this database yet: a process that serves makes it";
        return Err(Error::invalid(message));
    }
    Ok(found == VERSION || !create)
}

/// The version of the tables; 0 if there are none.
pub(crate) async fn version(engine: &Engine, link: &mut Link) -> Result<i64, Failure> {
    // The catalogue itself is asked: `to_regclass` answers from a cache that a wait for another process's
    // tables does not refresh.
    let there = format!(
        "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{}' AND c.relname = 'semel_meta')",
        engine.schema
    );
    let rows = link.ask(&there, &[]).await?;
    if rows.first().map_or(Ok(0), |row| row.number(0))? == 0 {
        return Ok(0);
    }
    let text = "SELECT value FROM {s}semel_meta WHERE name = 'schema_version'";
    let rows = link.ask(&sql::text(&engine.schema, text), &[]).await?;
    Ok(rows.first().map_or(Ok(0), |row| row.number(0))?)
}

async fn exists(engine: &Engine, link: &mut Link) -> Result<bool, Failure> {
    let there = format!(
        "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{}')",
        engine.schema
    );
    let rows = link.ask(&there, &[]).await?;
    Ok(rows.first().map_or(Ok(0), |row| row.number(0))? == 1)
}
