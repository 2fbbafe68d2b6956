//! Makes a release out of a clean checkout: version, lock file, commit, tag. It pushes and publishes nothing.
//!
//! The changelog is written by people. A release is refused until it has a section for the version, and nothing is left under "Unreleased".

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;
use crate::packages::{self, Package};
use crate::process::output;
use crate::workspace::cargo;

const MANIFEST: &str = "Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";
const UNRELEASED: &str = "Unreleased";
const PACKAGE: &[&str] = &[
    "package",
    "--workspace",
    "--no-verify",
    "--allow-dirty",
    "--quiet",
];

/// Releases the version that is named.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let [version] = args else {
        return Err(Error::Usage("expected release VERSION".to_owned()));
    };
    let manifest = read(root, MANIFEST)?;
    let old = current(&manifest)?;
    must_follow(&old, version)?;
    check_changelog(&read(root, CHANGELOG)?, version)?;
    must_be_clean(root)?;
    let path = root.join(MANIFEST);
    fs::write(&path, bumped(&manifest, &old, version)).map_err(Error::at("write", &path))?;
    output(&mut cargo(root, &["update", "--workspace", "--quiet"]))?;
    // What cannot be packed cannot be published; better to hear it before there is a tag.
    output(&mut cargo(root, PACKAGE))?;
    commit(root, version)?;
    note(&format!(
        "tagged v{version}; nothing was pushed or published"
    ));
    note(&next_steps(version, &packages::read(root)?));
    Ok(())
}

fn read(root: &Path, name: &str) -> Result<String> {
    let path = root.join(name);
    fs::read_to_string(&path).map_err(Error::at("read", &path))
}

/// The version in `[workspace.package]`.
fn current(manifest: &str) -> Result<String> {
    let (_, package) = manifest
        .split_once("[workspace.package]")
        .unwrap_or_default();
    let line = package
        .lines()
        .find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|rest| rest.split_once('"'));
    version
        .map(|(version, _)| version.to_owned())
        .ok_or_else(|| Error::failed(format!("{MANIFEST} has no version in [workspace.package]")))
}

/// The numbers of a version, and whether it is a pre-release.
fn numbers(version: &str) -> Option<([u64; 3], bool)> {
    let (plain, pre) = match version.split_once('-') {
        Some((_, "")) => return None,
        Some((plain, _)) => (plain, true),
        None => (version, false),
    };
    let parts: Vec<u64> = plain
        .split('.')
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()
        .ok()?;
    Some((parts.try_into().ok()?, pre))
}

fn must_follow(old: &str, new: &str) -> Result<()> {
    let shape = || {
        Error::Usage(format!(
            "expected a version such as 0.2.0 or 0.2.0-rc.1, found `{new}`"
        ))
    };
    let (wanted, pre) = numbers(new).ok_or_else(shape)?;
    let (had, had_pre) = numbers(old).ok_or_else(shape)?;
    // A first release may have the version that the manifest was begun with.
    let follows = wanted > had || (wanted == had && (!pre || had_pre));
    match follows {
        true => Ok(()),
        false => Err(Error::failed(format!("{new} does not follow {old}"))),
    }
}

fn check_changelog(text: &str, version: &str) -> Result<()> {
    let section = |title: &str| {
        let mut sections = text.split("\n## ").skip(1);
        sections.find(|section| section.split([' ', '\n']).next() == Some(title))
    };
    let filled = |section: &str| section.lines().skip(1).any(|line| line.starts_with("- "));
    if section(UNRELEASED).is_some_and(filled) {
        return Err(Error::failed(format!(
            "{CHANGELOG}: move what is under \"## {UNRELEASED}\" to \"## {version} - DATE\""
        )));
    }
    match section(version).is_some_and(filled) {
        true => Ok(()),
        false => Err(Error::failed(format!(
            "{CHANGELOG} has no section \"## {version} - DATE\" with a line in it"
        ))),
    }
}

/// The manifest with another version of the workspace and of the crates in it.
fn bumped(manifest: &str, old: &str, new: &str) -> String {
    let (from, to) = (
        format!("version = \"{old}\""),
        format!("version = \"{new}\""),
    );
    let lines = manifest.lines().map(|line| {
        let ours = line.starts_with(&from) || line.contains("path = \"crates/");
        match ours {
            true => line.replace(&from, &to),
            false => line.to_owned(),
        }
    });
    lines.map(|line| line + "\n").collect()
}

fn must_be_clean(root: &Path) -> Result<()> {
    let changed = output(git(root).args(["status", "--porcelain"]))?;
    match changed.is_empty() {
        true => Ok(()),
        false => Err(Error::failed(format!(
            "expected a checkout without changes, found:\n{changed}"
        ))),
    }
}

fn commit(root: &Path, version: &str) -> Result<()> {
    let message = format!("Version {version}");
    output(git(root).args(["commit", "--quiet", "--all", "--message", &message]))?;
    let tag = format!("v{version}");
    output(git(root).args(["tag", "--annotate", "--message", &message, &tag])).map(drop)
}

fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(root);
    git
}

fn next_steps(version: &str, packages: &[Package]) -> String {
    let published = packages
        .iter()
        .filter(|package| package.ours && package.published);
    let count = published.count();
    format!(
        "next: cargo xtask ci && cargo xtask deny && cargo xtask features && cargo xtask dist\n\
         then: git push origin main v{version}\n\
         then: cargo publish --workspace    # {count} crates, in the order of their dependencies"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nversion = \"0.1.0\"\n[workspace.dependencies]\n\
        semel = { path = \"crates/semel\", version = \"0.1.0\" }\nmimalloc = { version = \"0.1.0\" }\n";

    #[test]
    fn the_version_of_the_workspace_and_of_its_crates_changes_and_no_other() {
        assert_eq!(current(MANIFEST).unwrap(), "0.1.0");
        let bumped = bumped(MANIFEST, "0.1.0", "0.2.0");
        assert_eq!(current(&bumped).unwrap(), "0.2.0");
        assert!(bumped.contains("semel = { path = \"crates/semel\", version = \"0.2.0\" }"));
        assert!(bumped.contains("mimalloc = { version = \"0.1.0\" }"));
    }

    #[test]
    fn a_version_follows_the_one_before() {
        for (old, new, expected) in [
            ("0.1.0", "0.1.0", true),
            ("0.1.0", "0.2.0", true),
            ("0.1.0", "0.1.1-rc.1", true),
            ("0.2.0-rc.1", "0.2.0", true),
            ("0.1.0", "0.1.0-rc.1", false),
            ("0.2.0", "0.1.9", false),
            ("0.1.0", "0.2", false),
            ("0.1.0", "v0.2.0", false),
            ("0.1.0", "0.2.0-", false),
        ] {
            assert_eq!(must_follow(old, new).is_ok(), expected, "{old} {new}");
        }
    }

    #[test]
    fn the_changelog_must_speak_of_the_version_and_of_nothing_unreleased() {
        for (text, expected) in [
            ("# C\n\n## 0.2.0 - 2026-12-01\n\n- A line\n", true),
            (
                "# C\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n- A line\n",
                true,
            ),
            (
                "# C\n\n## Unreleased\n- More\n\n## 0.2.0 - 2026-12-01\n- A line\n",
                false,
            ),
            (
                "# C\n\n## 0.2.0 - 2026-12-01\n\n## 0.1.0\n- A line\n",
                false,
            ),
            ("# C\n\n## 0.2.01\n- A line\n", false),
        ] {
            assert_eq!(check_changelog(text, "0.2.0").is_ok(), expected, "{text}");
        }
    }
}
