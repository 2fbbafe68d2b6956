//! The archive: one directory with the program and what a person needs to begin.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Result;
use crate::process::output;

use super::Dist;
use super::stage::{Help, Stage};

/// Files of the repository, and their names in the archive.
const FILES: [(&str, &str); 6] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("packaging/semel.yaml", "semel.yaml"),
    ("packaging/semel.service", "semel.service"),
];

const HELP: Help = Help {
    completions: [
        ("bash", "completions/semel.bash"),
        ("zsh", "completions/_semel"),
        ("fish", "completions/semel.fish"),
    ],
    man: "man",
    compressed: false,
};

/// Makes `semel-VERSION-ARCH-linux.tar.gz`.
pub(super) fn make(dist: &Dist<'_>, work: &Path) -> Result<PathBuf> {
    let name = format!("semel-{}-{}-linux", dist.version, dist.program.arch);
    let stage = Stage::new(work.join(&name))?;
    stage.program("semel", &dist.program)?;
    stage.help(&dist.program.runnable, &HELP)?;
    for (from, to) in FILES {
        stage.write(to, dist.file(from)?, 0o644)?;
    }
    let made = dist.out.join(format!("{name}.tar.gz"));
    let level = if dist.thorough { "gzip -9" } else { "gzip -1" };
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0"]);
    tar.args(["--numeric-owner", "--use-compress-program", level]);
    tar.arg("--file").arg(&made);
    tar.arg("--directory").arg(work).arg(&name);
    output(&mut tar)?;
    Ok(made)
}
