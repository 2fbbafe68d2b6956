//! Files of other versions: looking leaves them as they are, and added columns disturb no process that runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use semel_core::store::{ClaimAnswer, SettleAnswer, SettleRequest};
use semel_core::{Inbox, Kind, Outcome, Retention, Store, StoreExt};
use tempfile::TempDir;

use crate::{config, dir, open, request, settle};

/// A file as version `count` of the schema left it.
fn file_of_version(dir: &TempDir, count: usize) -> Connection {
    let connection = Connection::open(dir.path().join("semel.db")).unwrap();
    let migrations = [
        include_str!("../../migrations/0001_records.sql"),
        include_str!("../../migrations/0002_bars.sql"),
        include_str!("../../migrations/0003_inbox.sql"),
        include_str!("../../migrations/0004_counts.sql"),
        include_str!("../../migrations/0005_lanes.sql"),
        include_str!("../../migrations/0006_known.sql"),
        include_str!("../../migrations/0007_positions.sql"),
        include_str!("../../migrations/0008_edits.sql"),
    ];
    for migration in &migrations[..count] {
        connection.execute_batch(migration).unwrap();
    }
    let sql = "INSERT INTO semel_meta (name, value) VALUES ('schema_version', ?1)";
    connection.execute(sql, [count]).unwrap();
    connection
}

fn layout(connection: &Connection) -> (i64, i64) {
    let sql = "SELECT (SELECT value FROM semel_meta WHERE name = 'schema_version'), \
               (SELECT count(*) FROM sqlite_schema)";
    connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

#[tokio::test]
async fn looking_at_a_file_of_this_version_leaves_it_as_it_is() {
    let dir = dir();
    drop(open(&dir));
    let connection = Connection::open(dir.path().join("semel.db")).unwrap();
    let before = layout(&connection);
    let store = config(&dir).must_exist().open().unwrap();
    assert_eq!(store.stats().await.unwrap().settled, 0);
    assert!(matches!(
        settle(&store, "k", b"kept".to_vec()).await.unwrap(),
        SettleAnswer::Settled
    ));
    store.sweep(10).await.unwrap();
    drop(store);
    assert_eq!(layout(&connection), before);
}

#[test]
fn looking_at_a_file_that_is_older_says_what_to_do() {
    for version in [2, 5, 6, 7, 8] {
        let dir = dir();
        let connection = file_of_version(&dir, version);
        let before = layout(&connection);
        let error = config(&dir).must_exist().open().unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        let said = error.to_string();
        assert!(
            said.contains(&format!("schema version {version}")),
            "{said}"
        );
        assert!(said.contains("semel serve"), "{said}");
        assert_eq!(layout(&connection), before);
        // A process that serves the file brings it up to date.
        drop(open(&dir));
        assert_eq!(layout(&connection).0, 9);
    }
}

/// How far a lane had come before lanes had a tenant holds for each tenant that has had messages in it, and for all of the consumer's if none is kept.
#[test]
fn lanes_of_an_older_file_are_known_by_tenant() {
    let dir = dir();
    let connection = file_of_version(&dir, 4);
    connection
        .execute_batch(
            "INSERT INTO semel_consumers (consumer, scope, version) VALUES (1, 'mailer', 1);
             INSERT INTO semel_lanes (consumer, lane, done) VALUES (1, 'kept', 3), (1, 'swept', 9);
             INSERT INTO semel_messages (number, consumer, key, tenant, fingerprint, received_ms, expires_ms, lane, sequence, payload)
             VALUES (1, 1, 'kept-4', 'acme', x'00', 1, 2, 'kept', 4, x''), (2, 1, 'other', 'public', x'00', 1, 2, NULL, NULL, x'');
             INSERT INTO semel_work (number, consumer, state, due_ms, fence, attempts, generation, replay, changed_ms, sequence, lane)
             VALUES (1, 1, 3, 1, 7, 1, 0, 0, 5, 4, 'kept');
             INSERT INTO semel_claims (fence, tenant, scope, version, key, fingerprint, attempt, claimed_ms)
             VALUES (1, 'acme', 'mailer', 1, 'a', x'00', 1, 1), (2, 'public', 'mailer', 1, 'b', x'00', 1, 1);",
        )
        .unwrap();
    drop(open(&dir));
    let rows = |sql: &str| -> Vec<(String, String, i64)> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let row = |lane: &str, tenant: &str, done| (lane.to_owned(), tenant.to_owned(), done);
    assert_eq!(
        rows("SELECT lane, tenant, done FROM semel_lanes ORDER BY lane, tenant"),
        [
            row("kept", "acme", 3),
            row("swept", "acme", 9),
            row("swept", "public", 9)
        ]
    );
    assert_eq!(
        rows("SELECT lane, tenant, first_ms FROM semel_work"),
        [row("kept", "acme", 5)]
    );
}

/// How far a source had come before positions had partitions is where its one reader goes on.
#[tokio::test]
async fn positions_of_an_older_file_are_those_of_the_nameless_partition() {
    let dir = dir();
    let connection = file_of_version(&dir, 6);
    let sql =
        "INSERT INTO semel_positions (source, position, changed_ms) VALUES ('file', 'line 7', 1)";
    connection.execute(sql, []).unwrap();
    let partitions = vec![String::new(), "1".to_owned()];
    let store = open(&dir);
    let taken = store.take_positions("file".to_owned(), partitions);
    let taken = taken.await.unwrap();
    let found = taken.iter().map(|t| (t.position.as_deref(), t.epoch));
    let expected = [(Some("line 7"), 1), (None, 1)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn columns_that_a_newer_version_adds_disturb_no_process_that_runs() {
    let dir = dir();
    let store = open(&dir);
    let connection = Connection::open(dir.path().join("semel.db")).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'semel_*'";
    let mut statement = connection.prepare(sql).unwrap();
    let tables = statement.query_map([], |row| row.get::<_, String>(0));
    let tables: Vec<String> = tables.unwrap().map(Result::unwrap).collect();
    assert!(tables.len() > 15, "{tables:?}");
    for table in tables {
        let sql = format!("ALTER TABLE {table} ADD COLUMN added INTEGER");
        connection.execute(&sql, []).unwrap();
    }
    let ClaimAnswer::Granted(lease) = store.claim_one(request("k")).await.unwrap() else {
        panic!("expected a grant");
    };
    let archived = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::succeeded("kept"),
        took: Duration::ZERO,
        retention: Retention::archive_after(Duration::from_millis(1)).unwrap(),
    };
    store.settle_one(archived).await.unwrap();
    while store.stats().await.unwrap().archived == 0 {
        store.sweep(10).await.unwrap();
    }
}

/// The test above sees the statements that it runs; this one sees all of them.
#[test]
fn every_insert_names_its_columns() {
    fn sources(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sources(&path, found),
                false => found.push(path),
            }
        }
    }
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let mut inserts = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap().replace("\\\n", " ");
        for after in text.split("INTO semel_").skip(1) {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_');
            let statement: String = rest.chars().take(40).collect();
            let is_named = rest.trim_start().starts_with('(');
            assert!(is_named, "{}: …{statement}", file.display());
            inserts += 1;
        }
    }
    assert!(inserts > 15, "found {inserts} inserts only");
}
