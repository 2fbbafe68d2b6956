//! What servers and tools are made of, and one installer per kind.
//!
//! Programs of Debian's packages belong to the system; everything else lies in a directory of the workspace, so that
//! nothing is installed into the system's Python or into a user's home, and it survives `services down`. Versions are
//! pinned: a check must not change because its program did.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::output::note;
use crate::{process, workspace};

use super::slot::{create_dir, remove_dir, tool_dir};
use super::{hold, program};

mod cargo;
mod debian;
mod maven;
mod npm;
mod postgres;
mod python;

pub(crate) use debian::install as install_package;

/// Something that can be found or installed.
pub(super) enum Part {
    /// A program and the Debian package that it is in; named by its own name in templates.
    Program(&'static str, &'static str),
    /// The same for a package of the program's name that starts a service, which is kept off.
    Service(&'static str),
    /// The directory of PostgreSQL's programs, `{postgres-bin}` in templates.
    PostgresPrograms,
    /// A virtual environment, `{venv}` in templates: packages of PyPI with their versions, and the modules that must be possible
    /// to import.
    Python(&'static str, &'static str),
    /// A module for Node.js and its version.
    Npm(&'static str, &'static str),
    /// A program that a crate brings along under its own name, its version and the crate's features.
    Cargo(&'static str, &'static str, &'static str),
    /// Java libraries (`group:artefact:version`) with all that they need, `{jars}` in templates.
    Maven(&'static str),
}

impl Part {
    /// What it is called in templates.
    const fn name(&self) -> &'static str {
        match self {
            Self::Program(name, _) | Self::Service(name) => name,
            Self::Npm(name, _) | Self::Cargo(name, ..) => name,
            Self::PostgresPrograms => "postgres-bin",
            Self::Python(..) => "venv",
            Self::Maven(_) => "jars",
        }
    }

    /// What a template's name stands for if the part lies in `dir`.
    fn place(&self, dir: &Path) -> Option<PathBuf> {
        match self {
            Self::Program(name, _) | Self::Service(name) => program::find(name),
            Self::PostgresPrograms => postgres::find(),
            Self::Python(..) => Some(dir.join("venv")),
            Self::Npm(..) => Some(dir.join("node_modules")),
            Self::Cargo(name, ..) => Some(dir.join("bin").join(name)),
            Self::Maven(_) => Some(dir.join("jars")),
        }
    }

    /// What the tests run of it, if it lies in `dir`.
    pub(super) fn program(&self, dir: &Path) -> Option<PathBuf> {
        let place = self.place(dir)?;
        match self {
            Self::Python(..) => Some(place.join("bin").join("python")),
            _ => Some(place),
        }
    }

    /// Fails unless `program` works; says whether it has the pinned version.
    pub(super) fn check(&self, program: &Path) -> Result<bool> {
        match self {
            Self::Program(..) | Self::Service(_) => {
                // Debian's programs understand one or the other.
                let said = |flag| process::output(Command::new(program).arg(flag));
                said("--version").or_else(|_| said("-v")).map(|_| true)
            }
            Self::PostgresPrograms => postgres::check(program).map(|()| true),
            Self::Python(pins, modules) => python::check(program, pins, modules),
            Self::Npm(name, version) => npm::check(program, name, version),
            Self::Cargo(_, version, _) => cargo::check(program, version),
            Self::Maven(artefacts) => maven::check(program, artefacts),
        }
    }

    /// Looks for it without changing anything.
    pub(super) fn find(&self, dir: &Path) -> Option<PathBuf> {
        let program = self.program(dir)?;
        let is_right = match self {
            // Some servers' programs do not tell their version without starting.
            Self::Program(..) | Self::Service(_) => true,
            _ => self.check(&program).is_ok_and(|is_right| is_right),
        };
        is_right.then_some(program)
    }

    /// Installs it if it is missing, in `dir` if it can lie anywhere.
    pub(super) fn ensure(&self, dir: &Path) -> Result<()> {
        if self.find(dir).is_some() {
            return Ok(());
        }
        self.install(dir)?;
        match self.find(dir) {
            Some(_) => Ok(()),
            None => Err(Error::failed(format!(
                "the installation succeeded, but without {}",
                self.name()
            ))),
        }
    }

    fn install(&self, dir: &Path) -> Result<()> {
        match self {
            Self::Program(name, package) => {
                debian::install_unless(package, || program::find(name).is_some())
            }
            Self::Service(name) => debian::install_service(name),
            Self::PostgresPrograms => postgres::install(),
            Self::Python(pins, _) => python::install(&fresh(dir, "venv")?, pins),
            Self::Npm(name, version) => npm::install(
                fresh(dir, "node_modules")?.parent().unwrap_or(dir),
                name,
                version,
            ),
            Self::Cargo(name, version, features) => cargo::install(dir, name, version, features),
            Self::Maven(artefacts) => maven::install(dir, &fresh(dir, "jars")?, artefacts),
        }
    }
}

/// Installs what is missing of `parts` for the server `name`; what their names stand for in templates.
pub(super) fn installed(parts: &[Part], name: &str) -> Result<Vec<(&'static str, PathBuf)>> {
    let root = workspace::root();
    let dir = tool_dir(&root, name);
    // Two runs at once must not install the same thing into each other.
    let _held = hold::in_workspace(&root, &format!("tool-{name}"))?;
    parts
        .iter()
        .map(|part| {
            part.ensure(&dir)?;
            let place = part.place(&dir);
            let place = place.ok_or_else(|| Error::failed(format!("{} is gone", part.name())))?;
            Ok((part.name(), place))
        })
        .collect()
}

/// A directory without what is there in another version, or was interrupted half-way.
fn fresh(dir: &Path, name: &str) -> Result<PathBuf> {
    let path = dir.join(name);
    remove_dir(&path)?;
    create_dir(dir)?;
    Ok(path)
}

/// Says what is fetched, since it takes a while.
fn fetching(what: &str) {
    note(&format!("fetching {what}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_fails_does_not_work() {
        let nowhere = Path::new("/nowhere");
        let parts = [
            Part::Program("nothing-of-this-name", ""),
            Part::PostgresPrograms,
            Part::Python("pika==1", "pika"),
            Part::Npm("express", "1"),
            Part::Cargo("mdbook", "1", ""),
            Part::Maven("a:b:1"),
        ];
        for part in parts {
            assert!(part.check(nowhere).is_err(), "{}", part.name());
            assert!(
                part.check(Path::new("/bin/false")).is_err(),
                "{}",
                part.name()
            );
            if !matches!(part, Part::PostgresPrograms) {
                assert!(part.find(nowhere).is_none(), "{}", part.name());
            }
        }
    }
}
