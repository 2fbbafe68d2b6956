//! Rules for the crates' manifests: shared lints and shared versions.

use std::collections::BTreeSet;

use super::files::Files;
use super::finding::Finding;
use super::toml::{Entry, entries};

const ROOT: &str = "Cargo.toml";
/// Crates that may state lints of their own, because they cannot do without unsafe code.
const OWN_LINTS: [&str; 2] = [
    "crates/semel-kafka-native/Cargo.toml",
    "crates/semel-powerloss/Cargo.toml",
];
const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Checks every manifest but the root's.
pub(super) fn check(files: &Files) -> Vec<Finding> {
    let root = files.get(ROOT).map(String::as_str).unwrap_or_default();
    let shared = shared_dependencies(&entries(root));
    let manifests = files
        .iter()
        .filter(|(path, _)| path.ends_with("/Cargo.toml"));
    manifests
        .flat_map(|(path, text)| check_manifest(path, &entries(text), &shared))
        .collect()
}

fn check_manifest(path: &str, entries: &[Entry], shared: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let says = |path: &[&str], value: &str| {
        let mut all = entries.iter();
        all.any(|entry| entry.path == path && entry.value == value)
    };
    let (expected, found) = match OWN_LINTS.contains(&path) {
        true => (
            "[lints.rust] unsafe_code = \"deny\"",
            says(&["lints", "rust", "unsafe_code"], "\"deny\""),
        ),
        false => (
            "[lints] workspace = true",
            says(&["lints", "workspace"], "true"),
        ),
    };
    if !found {
        let message = format!("`{expected}` is missing");
        findings.push(Finding::new(path, 1, message));
    }
    let own = entries.iter().filter_map(|entry| {
        let (name, says_shared) = dependency(entry)?;
        (!says_shared && shared.contains(name) && !shares(entries, name, &entry.path))
            .then(|| Finding::new(path, entry.line, says_own(name)))
    });
    findings.extend(own);
    findings
}

fn says_own(name: &str) -> String {
    format!("`{name}` is listed in the workspace: use `{name}.workspace = true`")
}

/// The dependency an entry is about, and whether the entry takes it from the
/// workspace. Renamed dependencies are known by their new name only.
fn dependency(entry: &Entry) -> Option<(&str, bool)> {
    let section = section(&entry.path)?;
    let name = entry.path.get(section + 1)?;
    let compact: String = entry.value.split_whitespace().collect();
    let says_shared = match &entry.path[section + 2..] {
        // A development dependency by path alone closes a circle that publishing could not.
        [] if entry.path[section] == "dev-dependencies" && compact.contains("path=") => true,
        [] => compact.contains("workspace=true"),
        [key] => key == "workspace" && compact == "true",
        _ => false,
    };
    Some((name, says_shared))
}

/// Whether another entry about the same dependency takes it from the workspace, as
/// in `x.workspace = true` next to `x.features = […]`.
fn shares(entries: &[Entry], name: &str, path: &[String]) -> bool {
    let same = section(path).map(|section| &path[..=section + 1]);
    entries.iter().any(|entry| {
        same.is_some_and(|same| entry.path.starts_with(same))
            && dependency(entry) == Some((name, true))
    })
}

fn section(path: &[String]) -> Option<usize> {
    if path.first().is_some_and(|first| first == "workspace") {
        return None;
    }
    path.iter()
        .position(|part| SECTIONS.contains(&part.as_str()))
}

fn shared_dependencies(root: &[Entry]) -> BTreeSet<String> {
    let tables = root.iter().filter_map(|entry| match &entry.path[..] {
        [workspace, section, name, ..] if workspace == "workspace" && section == "dependencies" => {
            Some(name.clone())
        }
        _ => None,
    });
    tables.collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn manifests_share_lints_and_versions() {
        let uses = |line: usize| {
            format!("{line}: `serde` is listed in the workspace: use `serde.workspace = true`")
        };
        let table: &[(&str, &[String])] = &[
            (
                "[dependencies]\nserde.workspace = true\nother = \"1\"\n",
                &[],
            ),
            (
                "[dependencies]\nserde = { workspace = true, features = [\"rc\"] }\n",
                &[],
            ),
            (
                "[dependencies.serde]\nfeatures = []\nworkspace = true\n",
                &[],
            ),
            ("[dependencies]\nserde = \"1\"\n", &[uses(4)]),
            (
                "[dev-dependencies]\nserde = { version = \"1\" }\n",
                &[uses(4)],
            ),
            (
                "[target.'cfg(unix)'.build-dependencies]\nserde = \"1\"\n",
                &[uses(4)],
            ),
            ("[features]\nserde = [\"a\"]\n", &[]),
        ];
        for (text, expected) in table {
            let root = "[workspace.dependencies]\nserde = \"1\"\n".to_owned();
            let files = Files::from([
                (ROOT.to_owned(), root),
                ("crates/a/Cargo.toml".to_owned(), format!("{LINTS}{text}")),
            ]);
            assert_eq!(shown(&check(&files)), *expected, "{text}");
        }
    }

    #[test]
    fn a_manifest_without_shared_lints_is_found() {
        for (text, expected) in [
            ("[package]\nname = \"a\"\n", 1),
            ("[lints]\nworkspace = false\n", 1),
            ("lints.workspace = true\n", 0),
            (LINTS, 0),
        ] {
            let files = Files::from([("crates/a/Cargo.toml".to_owned(), text.to_owned())]);
            assert_eq!(check(&files).len(), expected, "{text}");
        }
    }

    #[test]
    fn a_crate_with_lints_of_its_own_denies_unsafe_code_where_it_is_not_named() {
        for (text, expected) in [
            ("[lints.rust]\nunsafe_code = \"deny\"\n", 0),
            ("[lints.rust]\nunsafe_code = \"allow\"\n", 1),
            ("[package]\nname = \"a\"\n", 1),
        ] {
            let files = Files::from([(OWN_LINTS[0].to_owned(), text.to_owned())]);
            assert_eq!(check(&files).len(), expected, "{text}");
        }
    }
}
