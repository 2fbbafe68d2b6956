//! Which configuration file and which store each verb takes, and what it says about that.

use insta::assert_snapshot;

use crate::fixture::{Fixture, Ran};

/// A filled store that is called `pay.db`, and no other.
fn named_elsewhere() -> Fixture {
    let fixture = Fixture::filled();
    for end in ["", "-wal", "-shm"] {
        let of = |name: &str| fixture.path().with_file_name(format!("{name}{end}"));
        // Only the database itself must be there.
        let moved = std::fs::rename(of("semel.db"), of("pay.db"));
        assert!(moved.is_ok() || !end.is_empty(), "{moved:?}");
    }
    fixture
}

fn write(fixture: &Fixture, name: &str, text: &str) {
    std::fs::write(fixture.path().with_file_name(name), text).unwrap();
}

fn with_variable(fixture: &Fixture, line: &str, name: &str, value: &str) -> Ran {
    let words: Vec<_> = line.split(' ').collect();
    let mut command = fixture.command(&words);
    Ran::of(command.env(name, value).output().unwrap())
}

/// Every verb that looks into a store.
const LOOKS: [&str; 8] = [
    "keys list --json",
    "keys show order-3 --scope payments --json",
    "stats --json",
    "audit --json",
    "inbox list --json",
    "inbox counts --json",
    "dlq list --json",
    "check --json",
];

#[test]
fn every_verb_takes_the_store_of_the_file_in_its_directory() {
    let fixture = named_elsewhere();
    write(&fixture, "semel.yaml", "store: sqlite:pay.db\n");
    for line in LOOKS {
        let ran = fixture.semel(line);
        // What is on stdout is JSON and nothing else.
        ran.json();
        let said = Some("using sqlite:pay.db, from ./semel.yaml".to_owned());
        assert_eq!(ran.using, said, "{line}");
    }
    assert_eq!(fixture.semel("stats --json").json()["unknown"], 3);
    assert!(!fixture.path().exists(), "the default store was made");
}

#[test]
fn the_command_line_stands_over_the_environment_and_that_over_the_file() {
    let fixture = named_elsewhere();
    write(&fixture, "semel.yaml", "store: sqlite:none.db\n");
    let said = fixture.semel("stats --store sqlite:pay.db");
    assert_eq!((said.code, said.using), (0, None));
    let ran = with_variable(&fixture, "stats", "SEMEL_STORE", "sqlite:pay.db");
    let using = "using sqlite:pay.db, from SEMEL_STORE";
    assert_eq!((ran.code, ran.using.as_deref()), (0, Some(using)));
    let line = "stats --store sqlite:pay.db";
    let ran = with_variable(&fixture, line, "SEMEL_STORE", "sqlite:other.db");
    assert_eq!((ran.code, ran.using), (0, None));
    assert_snapshot!(fixture.semel("stats").shown(), @r#"
    stderr:
    error: cannot find the store at none.db: No such file or directory (os error 2)
    hint: name the store with --store sqlite:PATH, in SEMEL_STORE or in semel.yaml; its path is relative to the working directory

    exit: 78
    "#);
}

#[test]
fn a_file_that_is_named_stands_over_the_one_in_the_directory() {
    let fixture = named_elsewhere();
    write(&fixture, "semel.yaml", "store: sqlite:none.db\n");
    write(&fixture, "pay.yaml", "store: sqlite:pay.db\n");
    for line in LOOKS {
        let ran = fixture.semel(&format!("{line} --config pay.yaml"));
        let using = Some("using sqlite:pay.db, from pay.yaml".to_owned());
        assert_eq!((ran.code, ran.using), (0, using), "{line}");
    }
    let ran = with_variable(&fixture, "stats", "SEMEL_CONFIG", "pay.yaml");
    let using = Some("using sqlite:pay.db, from pay.yaml".to_owned());
    assert_eq!((ran.code, ran.using), (0, using));
    let missing = fixture.semel("keys list --config none.yaml");
    assert_eq!(missing.code, 78, "{missing:?}");
    assert!(missing.stderr.contains("none.yaml"), "{missing:?}");
}

#[test]
fn a_store_in_another_directorys_file_is_relative_to_the_working_directory() {
    let fixture = named_elsewhere();
    let inner = fixture.path().with_file_name("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("semel.yaml"), "store: sqlite:pay.db\n").unwrap();
    let ran = fixture.semel("stats --config inner/semel.yaml");
    let using = Some("using sqlite:pay.db, from inner/semel.yaml".to_owned());
    assert_eq!((ran.code, ran.using), (0, using));
}

#[test]
fn the_default_store_is_named_too() {
    let fixture = Fixture::filled();
    let using = fixture.semel("stats").using;
    assert_eq!(using.unwrap(), "using sqlite:semel.db, the default");
    write(&fixture, "semel.yaml", "log: { level: warn }\n");
    let using = fixture.semel("stats").using;
    let said = "using sqlite:semel.db, the default: ./semel.yaml names no store";
    assert_eq!(using.unwrap(), said);
}

#[test]
fn a_file_that_cannot_be_read_as_one_is_an_error_with_its_place() {
    let fixture = Fixture::filled();
    write(
        &fixture,
        "semel.yaml",
        "admin: off\nstores: sqlite:pay.db\n",
    );
    for line in LOOKS {
        let ran = fixture.semel(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (78, ""), "{line}: {ran:?}");
        let said = "semel.yaml:2:1: stores: unknown key; did you mean store?";
        assert!(ran.stderr.contains(said), "{line}: {ran:?}");
    }
    for line in ["serve", "gateway --upstream http://127.0.0.1:9"] {
        let ran = fixture.semel(line);
        assert_eq!(ran.code, 78, "{line}: {ran:?}");
        assert!(ran.stderr.contains("semel.yaml:2:1"), "{line}: {ran:?}");
    }
    // The file cannot change which store this is, and these verbs need nothing else of it.
    assert_eq!(fixture.semel("stats --store sqlite:semel.db").code, 0);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_not_taken_for_no_file() {
    let fixture = Fixture::filled();
    let link = fixture.path().with_file_name("semel.yaml");
    std::os::unix::fs::symlink("/nowhere/semel.yaml", link).unwrap();
    let ran = fixture.semel("keys list");
    assert_eq!((ran.code, ran.stdout.as_str()), (78, ""), "{ran:?}");
}

#[test]
fn hints_carry_the_option_that_is_needed_and_no_more() {
    let fixture = named_elsewhere();
    write(&fixture, "semel.yaml", "store: sqlite:pay.db\n");
    write(&fixture, "other.yaml", "store: sqlite:pay.db\n");
    for (options, carried) in [
        ("", ""),
        (" --config semel.yaml", ""),
        (" --config other.yaml", " --config other.yaml"),
        (" --store sqlite:pay.db", " --store sqlite:pay.db"),
        (
            " --store sqlite:pay.db --config other.yaml",
            " --store sqlite:pay.db",
        ),
    ] {
        let ran = fixture.semel(&format!("stats{options}"));
        let hint = format!("semel keys list --state unknown{carried}\n");
        assert!(ran.stderr.ends_with(&hint), "{options}: {ran:?}");
    }
    let ran = with_variable(&fixture, "stats", "SEMEL_CONFIG", "other.yaml");
    let hint = "semel keys list --state unknown\n";
    assert!(ran.stderr.ends_with(hint), "{ran:?}");
}

#[test]
fn hints_about_messages_carry_the_file_with_the_policies_too() {
    let fixture = Fixture::configured();
    let file = fixture.path().with_file_name("semel.yaml");
    std::fs::rename(file, fixture.path().with_file_name("other.yaml")).unwrap();
    for (options, carried) in [
        ("", ""),
        (" --store sqlite:semel.db", ""),
        (" --config other.yaml", " --config other.yaml"),
        (
            " --config other.yaml --store sqlite:semel.db",
            " --config other.yaml --store sqlite:semel.db",
        ),
    ] {
        let ran = fixture.semel(&format!("inbox counts{options}"));
        let hint = format!("semel dlq list{carried}\n");
        assert!(ran.stderr.ends_with(&hint), "{options}: {ran:?}");
    }
}

#[test]
fn a_list_that_is_empty_names_the_store() {
    let fixture = named_elsewhere();
    let ran = fixture.semel("keys list --tenant none --store sqlite:pay.db");
    assert_eq!(ran.stderr, "no record matches in sqlite:pay.db\n");
}

#[test]
fn the_demo_refuses_a_store_and_a_file() {
    let fixture = Fixture::empty();
    assert_snapshot!(fixture.semel("demo --store sqlite:pay.db").shown(), @r#"
    stderr:
    error: semel demo takes no --store: it has a store of its own, which it removes

    exit: 2
    "#);
    let ran = fixture.semel("demo --config semel.yaml");
    assert_eq!(ran.code, 2, "{ran:?}");
}
