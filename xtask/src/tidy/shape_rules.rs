//! Rules for the shape of stores: one who knows one store finds the way in all.

use super::files::Files;
use super::finding::Finding;

/// The crates that are a store of their own.
const STORES: &[&str] = &["semel-sqlite", "semel-postgres", "semel-redis"];

/// What every store has, each a file or a folder of `src`, and what is in it.
const STORE: &[(&str, &str)] = &[
    ("config", "what a user sets, and how a URL says it"),
    ("connection", "how the engine is reached"),
    ("error", "the driver's errors as kinds of ours"),
    ("query", "look-ups, lists and counts"),
    ("records", "how a record is stored, and read back"),
    ("store", "the store itself"),
    ("sweep", "housekeeping"),
    ("verbs", "the decisions of the protocol, carried out"),
];

/// What a store that holds messages has below `src/inbox`.
const INBOX: &[(&str, &str)] = &[
    ("claim", "who works on what"),
    ("finish", "what came of it"),
    ("inspect", "what people see of it"),
    ("lanes", "order"),
    ("operate", "what people do to it"),
    ("receive", "what arrives"),
    ("sweep", "housekeeping"),
];

/// What every store is held to.
const TESTS: &[(&str, &str)] = &[
    ("conformance", "the suite that every store passes"),
    ("crash", "processes that are killed"),
];

/// Checks that every store has the same rooms under the same names.
pub(super) fn check(files: &Files) -> Vec<Finding> {
    STORES
        .iter()
        .flat_map(|store| of_store(files, store))
        .collect()
}

fn of_store(files: &Files, store: &str) -> Vec<Finding> {
    let src = format!("crates/{store}/src");
    let mut findings = missing(files, &src, STORE);
    findings.extend(missing(files, &format!("crates/{store}/tests"), TESTS));
    if has(files, &src, "inbox") {
        findings.extend(missing(files, &format!("{src}/inbox"), INBOX));
    }
    findings
}

fn missing(files: &Files, folder: &str, rooms: &[(&str, &str)]) -> Vec<Finding> {
    let absent = rooms.iter().filter(|(name, _)| !has(files, folder, name));
    absent
        .map(|(name, subject)| {
            let message = format!("expected `{name}` ({subject}), as every store has it");
            Finding::new(folder, 1, message)
        })
        .collect()
}

/// Whether `folder` has the module `name`, as a file or as a folder.
fn has(files: &Files, folder: &str, name: &str) -> bool {
    ["", "/mod", "/main"]
        .iter()
        .any(|end| files.contains_key(&format!("{folder}/{name}{end}.rs")))
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;

    fn whole(store: &str, inbox: bool) -> Files {
        let path = |folder: &str, (name, _): &(&str, &str)| {
            (format!("crates/{store}/{folder}/{name}.rs"), String::new())
        };
        let mut files: Files = STORE.iter().map(|room| path("src", room)).collect();
        files.extend(TESTS.iter().map(|room| path("tests", room)));
        if inbox {
            files.extend(INBOX.iter().map(|room| path("src/inbox", room)));
            files.insert(format!("crates/{store}/src/inbox/mod.rs"), String::new());
        }
        files
    }

    #[test]
    fn a_store_with_every_room_is_well_shaped_with_and_without_an_inbox() {
        for inbox in [false, true] {
            assert!(of_store(&whole("semel-mysql", inbox), "semel-mysql").is_empty());
        }
    }

    #[test]
    fn a_missing_room_is_named_and_a_folder_is_as_good_as_a_file() {
        let mut files = whole("semel-mysql", true);
        files.remove("crates/semel-mysql/src/verbs.rs");
        files.insert("crates/semel-mysql/src/verbs/mod.rs".into(), String::new());
        files.remove("crates/semel-mysql/src/inbox/lanes.rs");
        let found = shown(&of_store(&files, "semel-mysql"));
        assert_eq!(
            found,
            ["1: expected `lanes` (order), as every store has it"]
        );
    }
}
