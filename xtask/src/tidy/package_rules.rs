//! Rules for the packages of the lock file: the version of Rust that is promised, licences, and what a registry shows.

use crate::packages::{Package, RustVersion};

use super::files::Files;
use super::finding::Finding;
use super::toml::entries;

const ROOT: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";
const DENY: &str = "deny.toml";
/// A registry takes no more keywords and categories.
const WORDS_MAX: usize = 5;

/// Checks them all.
pub(super) fn check(files: &Files, packages: &[Package], compiler: RustVersion) -> Vec<Finding> {
    let deny = files.get(DENY).map(String::as_str).unwrap_or_default();
    let mut findings = check_rust_version(packages, compiler);
    findings.extend(check_licences(packages, &allowed(deny)));
    let published = packages
        .iter()
        .filter(|package| package.ours && package.published);
    findings.extend(published.flat_map(check_words));
    findings
}

/// The promise must hold for what the promised crates are built from, and for the compiler in use.
fn check_rust_version(packages: &[Package], compiler: RustVersion) -> Vec<Finding> {
    let ours = packages.iter().filter(|package| package.ours);
    let Some(promised) = ours.filter_map(|package| package.rust_version).min() else {
        let message = "`rust-version` is missing in [workspace.package]";
        return vec![Finding::new(ROOT, 1, message)];
    };
    let above = packages
        .iter()
        .filter_map(|package| Some((package, package.rust_version?)))
        .filter(|(package, needed)| !package.ours && *needed > promised);
    let mut findings: Vec<Finding> = above
        .map(|(package, needed)| {
            let (name, version) = (&package.name, &package.version);
            let (needed, promised) = (shown(needed), shown(promised));
            let message = format!(
                "`rust-version` is {promised}, and {name} {version} of the lock file needs {needed}"
            );
            Finding::new(ROOT, 1, message)
        })
        .collect();
    if compiler < promised {
        let (promised, compiler) = (shown(promised), shown(compiler));
        let message =
            format!("`rust-version` is {promised}, and the compiler in use is {compiler}");
        findings.push(Finding::new(ROOT, 1, message));
    }
    findings
}

fn shown([major, minor, patch]: RustVersion) -> String {
    format!("{major}.{minor}.{patch}")
}

fn check_licences(packages: &[Package], allowed: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let (name, version) = (&package.name, &package.version);
        let message = match &package.license {
            None => format!("{name} {version} states no licence"),
            Some(licence) if permits(licence, allowed) => continue,
            Some(licence) => format!(
                "{name} {version} is under `{licence}`, which [licenses] of {DENY} does not allow"
            ),
        };
        findings.push(Finding::new(LOCK, 1, message));
    }
    findings
}

/// The licences that deny.toml allows.
fn allowed(deny: &str) -> Vec<String> {
    let listed = entries(deny).into_iter();
    let allow = listed.filter(|entry| entry.path == ["licenses", "allow"]);
    allow
        .flat_map(|entry| {
            let quoted = entry.value.split('"').skip(1).step_by(2);
            quoted.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

/// Whether an SPDX expression can be met with licences that are allowed. `/` is how old manifests write OR.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    let expression = strip(expression.trim());
    if let Some(parts) = split(expression, " OR ") {
        return parts.iter().any(|part| permits(part, allowed));
    }
    if let Some(parts) = split(expression, " AND ") {
        return parts.iter().all(|part| permits(part, allowed));
    }
    let words: Vec<&str> = expression.split_whitespace().collect();
    allowed.contains(&words.join(" "))
}

/// Without parentheses around the whole.
fn strip(expression: &str) -> &str {
    let inner = expression
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'));
    match inner {
        Some(inner) if depths(inner).all(|(_, depth)| depth >= 0) => strip(inner.trim()),
        _ => expression,
    }
}

/// The parts between `word` outside of parentheses; nothing if it is not there.
fn split<'a>(expression: &'a str, word: &str) -> Option<Vec<&'a str>> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for (at, depth) in depths(expression) {
        if depth == 0 && at >= begin && expression[at..].starts_with(word) {
            parts.push(&expression[begin..at]);
            begin = at + word.len();
        }
    }
    parts.push(&expression[begin..]);
    (parts.len() > 1).then_some(parts)
}

/// How deep in parentheses each character is.
fn depths(expression: &str) -> impl Iterator<Item = (usize, i32)> {
    expression.char_indices().scan(0, |depth, (at, c)| {
        *depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        Some((at, *depth))
    })
}

fn check_words(package: &Package) -> Vec<Finding> {
    let words = |count: usize| (1..=WORDS_MAX).contains(&count);
    let table = [
        (package.description.is_some(), "a description"),
        (package.readme.is_some(), "a readme"),
        (words(package.keywords), "one to five keywords"),
        (words(package.categories), "one to five categories"),
    ];
    let path = format!("crates/{}/Cargo.toml", package.name);
    let missing = table.into_iter().filter(|(found, _)| !found);
    missing
        .map(|(_, what)| {
            let message = format!("expected {what}, because the crate is published");
            Finding::new(&path, 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown as printed;
    use super::*;

    fn package(name: &str, ours: bool, rust_version: RustVersion) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            ours,
            license: Some("MIT".to_owned()),
            rust_version: Some(rust_version),
            ..Package::default()
        }
    }

    #[test]
    fn the_promised_rust_is_enough_for_every_dependency_and_not_newer_than_the_compiler() {
        let found = |promised, compiler| {
            let ours = package("ours", true, promised);
            let sfv = package("sfv", false, [1, 95, 0]);
            let http = package("http", false, [1, 57, 0]);
            printed(&check_rust_version(&[ours, sfv, http], compiler))
        };
        assert!(found([1, 95, 0], [1, 95, 0]).is_empty());
        assert!(found([1, 96, 0], [1, 97, 2]).is_empty());
        let low = "1: `rust-version` is 1.89.0, and sfv 1.0.0 of the lock file needs 1.95.0";
        assert_eq!(found([1, 89, 0], [1, 95, 0]), [low]);
        let old = "1: `rust-version` is 1.95.0, and the compiler in use is 1.94.0";
        assert_eq!(found([1, 95, 0], [1, 94, 0]), [old]);
    }

    #[test]
    fn licences_are_judged_as_expressions() {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("(GPL-3.0 OR MIT) AND (BSD OR Zlib)", false),
            ("ISC AND (GPL-3.0 OR (MIT AND ISC))", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("((MIT))", true),
        ] {
            assert_eq!(permits(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn allowed_licences_stand_in_deny_toml() {
        let deny =
            "[bans]\nallow = [\"x\"]\n[licenses]\nallow = [\n    \"MIT\", # why\n    \"ISC\",\n]\n";
        assert_eq!(allowed(deny), ["MIT", "ISC"]);
        let refused = Package {
            license: Some("GPL-3.0".to_owned()),
            ..package("copyleft", false, [1, 0, 0])
        };
        let found = printed(&check_licences(&[refused], &allowed(deny)));
        let expected =
            "1: copyleft 1.0.0 is under `GPL-3.0`, which [licenses] of deny.toml does not allow";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_published_crate_says_what_it_is() {
        let bare = Package {
            published: true,
            keywords: 6,
            ..package("semel-a", true, [1, 95, 0])
        };
        assert_eq!(check_words(&bare).len(), 4);
        let whole = Package {
            description: Some("a".to_owned()),
            readme: Some("README.md".to_owned()),
            keywords: 5,
            categories: 1,
            ..bare
        };
        assert!(check_words(&whole).is_empty());
    }
}
