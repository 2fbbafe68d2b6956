//! Stores that cannot be used, command lines that cannot be understood, readers that go away.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::fixture::{Fixture, Ran};

#[test]
fn a_missing_store_is_not_created() {
    let empty = Fixture::empty();
    assert_snapshot!(empty.semel("keys list").shown(), @r#"
    stderr:
    error: cannot find the store at semel.db: No such file or directory (os error 2)
    hint: name the store with --store sqlite:PATH, in SEMEL_STORE or in semel.yaml; its path is relative to the working directory

    exit: 78
    "#);
    for verb in [
        "list",
        "show k --scope s",
        "release k --scope s",
        "purge --expired",
    ] {
        assert_eq!(empty.semel(&format!("keys {verb}")).code, 78, "{verb}");
        assert!(!empty.path().exists(), "{verb}");
    }
    assert_snapshot!(empty.semel("check").shown(), @r#"
    ✓ sqlite  version <version>
    ✓ url     sqlite:semel.db
    ✗ file    semel.db cannot be found: No such file or directory (os error 2)
              → a program that runs on the store creates it; --store or SEMEL_STORE names another

    stderr:
    error: 1 check failed

    exit: 78
    "#);
    assert!(!empty.path().exists());
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let store = Fixture::empty();
    let text = "this is a letter to a friend, and not a database";
    std::fs::write(store.path(), text).unwrap();
    assert_snapshot!(store.semel("stats").shown(), @r#"
    stderr:
    error: cannot open semel.db: sqlite, reading the schema's version (the file is damaged or no SQLite database; restore it from a copy): file is not a database

    exit: 74
    "#);
    assert_snapshot!(store.semel("check").shown(), @r#"
    ✓ sqlite  version <version>
    ✓ url     sqlite:semel.db
    ✓ file    semel.db, 48 B, can be written
    ✗ open    cannot open semel.db: sqlite, reading the schema's version (the file is damaged or no SQLite database; restore it from a copy): file is not a database

    stderr:
    error: 1 check failed

    exit: 74
    "#);
    assert_eq!(std::fs::read_to_string(store.path()).unwrap(), text);
}

#[test]
fn a_store_from_a_newer_semel_is_left_alone() {
    let store = Fixture::filled();
    let newer = "UPDATE semel_meta SET value = 99 WHERE name = 'schema_version'";
    store.connection().execute(newer, []).unwrap();
    for line in ["keys list", "stats", "check"] {
        let ran = store.semel(line);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        let said = "cannot open semel.db: the store has schema version 99, this Semel knows up to";
        assert!(printed.contains(said), "{line}: {printed}");
        assert_eq!(ran.code, 78, "{line}");
    }
}

#[test]
fn a_locked_store_can_be_read_and_not_written() {
    let store = Fixture::filled();
    let holder = store.connection();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(store.semel("stats").code, 0);
    assert_eq!(store.semel("keys list").code, 0);
    let release = "--busy-timeout 50ms keys release order-3 --scope payments";
    assert_snapshot!(store.semel(release).shown(), @r#"
    stderr:
    error: sqlite, taking the write lock (another process holds the file; try again, or stop that process): database is locked

    exit: 69
    "#);
    let check = store.semel("--busy-timeout 50ms check");
    assert_eq!(check.code, 69, "{check:?}");
    assert!(check.stdout.contains("✗ write"), "{check:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.semel(release).code, 0);
}

#[test]
fn a_clock_that_has_jumped_ahead_of_the_store_is_told() {
    let store = Fixture::filled();
    let not_served = "DELETE FROM semel_meta WHERE name = 'clock_ms'";
    store.connection().execute(not_served, []).unwrap();
    let ran = store.semel("check");
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = "2h ahead of the store's newest time: was nothing served for so long, or is the clock wrong?";
    assert!(ran.stdout.contains(told), "{ran:?}");
}

#[test]
fn a_clock_behind_the_store_is_noticed() {
    let store = Fixture::filled();
    let ahead = "UPDATE semel_claims SET claimed_ms = claimed_ms + 100 * 86400000";
    store.connection().execute(ahead, []).unwrap();
    let ran = store.semel("check");
    assert_eq!(ran.code, 78, "{ran:?}");
    let clock = ran.shown();
    let clock = clock
        .lines()
        .find(|line| line.starts_with("✗ clock"))
        .unwrap();
    assert!(
        clock.contains("it is <time> here, but the newest claim was made 99d"),
        "{clock}"
    );
}

#[test]
fn store_urls_that_this_build_cannot_open_are_explained() {
    let store = Fixture::filled();
    for (url, said) in [
        (
            "mysql://me:hunter2@db/x",
            "this build of semel cannot open mysql stores",
        ),
        ("dynamodb://table", "cannot open dynamodb stores"),
        (
            "oracle://me:hunter2@db",
            "can open sqlite:PATH, postgres://…",
        ),
        (
            "postgres:me:hunter2",
            "expected a store such as sqlite:semel.db",
        ),
        (
            "postgres://me:hunter2@db/x?schema=Not-One",
            "cannot open postgres://db/x: a schema's name",
        ),
        (
            "redis://:hunter2@db:port",
            "cannot open redis://db:port: the port in a Redis URL",
        ),
        (
            "sqlite:a.db+postgres://me:hunter2@db/x",
            "expected a store for claims such as redis://HOST, found SQLite",
        ),
        (
            "redis://:hunter2@db+redis://:hunter2@db",
            "expected a store for outcomes such as postgres://HOST/DATABASE or sqlite:PATH, found Redis",
        ),
        ("semel.db", "for a SQLite file write sqlite:semel.db"),
        ("oracle:x", r#"found the scheme "oracle""#),
        ("sqlite:", "expected sqlite:PATH, found no path"),
        ("sqlite:.", "is a directory"),
    ] {
        let ran = store.run(&["stats", "--store", url]);
        assert_eq!((ran.code, ran.stdout.as_str()), (78, ""), "{url}");
        assert!(ran.stderr.contains(said), "{url}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}

#[test]
fn bad_usage_ends_with_2() {
    let store = Fixture::filled();
    let long_key = format!("keys show {} --scope s", "k".repeat(256));
    for line in [
        "",
        "keys",
        "keys list --state lost",
        "keys list --limit 0",
        "keys list --limit 1001",
        "keys list --before x",
        "keys show",
        &long_key,
        "keys resolve order-3 --scope payments",
        "keys resolve order-3 --scope payments --succeeded --failed",
        "keys resolve order-2 --scope payments --tenant acme --late --status 200",
        "keys resolve order-3 --scope payments --failed --status 99",
        "keys resolve order-3 --scope payments --failed --retention 5",
        "keys resolve order-3 --scope payments --failed --retention 0s",
        "keys resolve order-3 --scope payments --failed --header nothing",
        "keys resolve order-3 --scope payments --failed --body a --body-file b",
        "keys purge",
        "keys purge --scope payments",
        "keys purge order-1 --scope payments --expired",
        "keys purge order-1 --scope payments --json",
    ] {
        let ran = store.semel(line);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{line:?}: {}",
            ran.stderr
        );
    }
    assert_snapshot!(store.semel("keys list --state lost").shown(), @r#"
    stderr:
    error: invalid value 'lost' for '--state <STATE>': a state is one of running, unknown, succeeded, failed, settled, archived, found "lost"

    For more information, try '--help'.

    exit: 2
    "#);
}

#[test]
fn a_reader_that_goes_away_has_read_enough() {
    let store = Fixture::filled();
    for line in ["keys list", "keys list --json", "stats", "check", "--help"] {
        let mut command = store.command(&line.split(' ').collect::<Vec<_>>());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn data_that_cannot_be_delivered_is_a_failure() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let store = Fixture::filled();
    let mut command = store.command(&["stats"]);
    let ran = Ran::of(command.stdout(full).output().unwrap());
    assert_eq!(ran.code, 74, "{ran:?}");
    let said = "error: cannot write to stdout";
    assert!(ran.stderr.starts_with(said), "{ran:?}");
}
