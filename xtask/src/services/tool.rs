//! What every kind of tool has in common: a program that the tests run themselves.
//!
//! A tool has no port and no process of its own, so there is nothing to start and
//! nothing to stop. It belongs to the workspace and not to a slot: every run uses the
//! same one, and it is still there for the next run.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::note;

use super::hold;
use super::part::Part;
use super::slot::{create_dir, tool_dir};
use super::variable::Variable;

/// One kind of program that tests can ask for.
pub(crate) struct Tool {
    /// The name used on the command line.
    pub(super) name: &'static str,
    /// The environment variable that names the program to the tests, or the directory if it has several parts.
    pub(super) variable: &'static str,
    pub(super) parts: &'static [Part],
}

/// Where a tool was found before anything was installed.
#[derive(Debug)]
pub(super) enum Found {
    /// The environment names a program that was not installed from here.
    Named(PathBuf),
    /// The program is on this machine and in order.
    Ready(PathBuf),
    /// There is none, or not the right one.
    Nothing,
}

impl Tool {
    /// Fails unless what the user names can do what the tests want of it. Any version will do.
    pub(super) fn check(&self, named: &Path) -> Result<()> {
        match self.parts {
            [part] => part.check(named).map(drop),
            parts => parts.iter().try_for_each(|part| {
                let program = part.program(named);
                let program = program.ok_or_else(|| Error::failed("a part of it is missing"))?;
                part.check(&program).map(drop)
            }),
        }
    }

    /// Looks for it in `dir` without changing anything.
    fn find_in(&self, dir: &Path) -> Option<PathBuf> {
        match self.parts {
            [part] => part.find(dir),
            parts => {
                let is_complete = parts.iter().all(|part| part.find(dir).is_some());
                is_complete.then(|| dir.to_owned())
            }
        }
    }
}

/// Finds the tool in the environment or on this machine, or installs it.
pub(super) fn ensure(tool: &Tool, root: &Path) -> Result<Variable> {
    let name = tool.name;
    // Two runs at once must not install the same thing into each other.
    let _held = hold::in_workspace(root, &format!("tool-{name}"))?;
    let program = match find(tool, root) {
        Found::Named(program) => use_named(tool, program)?,
        Found::Ready(program) => program,
        Found::Nothing => install(tool, &tool_dir(root, name))?,
    };
    note(&format!("{name}: {}", program.display()));
    let value = program.to_str().map(str::to_owned);
    let value =
        value.ok_or_else(|| Error::failed(format!("{} is not a UTF-8 path", program.display())))?;
    Ok(Variable {
        name: tool.variable,
        value,
    })
}

/// Where the tool is, after it was installed if need be.
pub(crate) fn installed(tool: &Tool, root: &Path) -> Result<PathBuf> {
    ensure(tool, root).map(|variable| variable.value.into())
}

/// Looks for a tool without installing it.
pub(super) fn find(tool: &Tool, root: &Path) -> Found {
    let dir = tool_dir(root, tool.name);
    let named = env::var_os(tool.variable).filter(|value| !value.is_empty());
    choose(&dir, named.map(PathBuf::from), tool.find_in(&dir))
}

fn install(tool: &Tool, dir: &Path) -> Result<PathBuf> {
    note(&format!("{}: installing", tool.name));
    create_dir(dir)?;
    tool.parts.iter().try_for_each(|part| part.ensure(dir))?;
    let found = tool.find_in(dir);
    found.ok_or_else(|| Error::failed(format!("{} is installed, but does not work", tool.name)))
}

fn choose(dir: &Path, named: Option<PathBuf>, found: Option<PathBuf>) -> Found {
    match (named, found) {
        // A shell that evaluated our own `export` lines names our own program, and
        // that one may be installed again if it is not in order.
        (Some(named), found) if !named.starts_with(dir) && found.as_ref() != Some(&named) => {
            Found::Named(named)
        }
        (_, Some(found)) => Found::Ready(found),
        (_, None) => Found::Nothing,
    }
}

fn use_named(tool: &Tool, program: PathBuf) -> Result<PathBuf> {
    let Tool { name, variable, .. } = tool;
    match tool.check(&program) {
        Ok(()) => {
            note(&format!("{name}: using the one that {variable} names"));
            Ok(program)
        }
        Err(error) => Err(Error::failed(format!(
            "{variable} names {}, which does not do: {error}\n\
             unset {variable} and run `cargo xtask services up {name}` to have one installed",
            program.display(),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_environment_names_is_used_unless_it_is_our_own() {
        let table = [
            (None, None, "Nothing"),
            (None, Some("/bin/a"), "Ready(\"/bin/a\")"),
            (Some("/bin/b"), Some("/bin/a"), "Named(\"/bin/b\")"),
            (Some("/bin/b"), None, "Named(\"/bin/b\")"),
            (Some("/bin/a"), Some("/bin/a"), "Ready(\"/bin/a\")"),
            (Some("/tools/fake"), None, "Nothing"),
            (Some("/tools/old"), Some("/bin/a"), "Ready(\"/bin/a\")"),
        ];
        for (named, found, expected) in table {
            let path = |path: Option<&str>| path.map(PathBuf::from);
            let chosen = choose(Path::new("/tools"), path(named), path(found));
            assert_eq!(format!("{chosen:?}"), expected, "{named:?} {found:?}");
        }
    }

    #[test]
    fn a_named_tool_that_does_not_work_is_refused_with_advice() {
        const FAKE: Tool = Tool {
            name: "fake",
            variable: "SEMEL_TEST_FAKE",
            parts: &[Part::PostgresPrograms],
        };
        let error = use_named(&FAKE, PathBuf::from("/nowhere"))
            .unwrap_err()
            .to_string();
        let first =
            "SEMEL_TEST_FAKE names /nowhere, which does not do: expected it to hold initdb, ";
        let last =
            "unset SEMEL_TEST_FAKE and run `cargo xtask services up fake` to have one installed";
        assert!(error.starts_with(first) && error.ends_with(last), "{error}");
    }
}
