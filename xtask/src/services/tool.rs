//! What every kind of tool has in common: a program that the tests run themselves.
//!
//! A tool has no port and no process of its own, so there is nothing to start and
//! nothing to stop. It belongs to the workspace and not to a slot: every run uses the
//! same one, and it is still there for the next run.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::note;

use super::slot::{self, Slot};
use super::variable::Variable;

/// One kind of program that tests can ask for.
pub(super) trait Tool: Sync {
    /// The name used on the command line.
    fn name(&self) -> &'static str;

    /// The environment variable that tells the tests where the program is.
    fn variable(&self) -> &'static str;

    /// Fails unless `program` runs and can do what the tests want of it.
    fn works(&self, program: &Path) -> Result<()>;

    /// Looks for the program, which may lie in `dir`, without changing anything.
    fn find(&self, dir: &Path) -> Option<PathBuf>;

    /// Installs the program, in `dir` if it can lie anywhere, and returns its path.
    /// It is called only when there is none.
    fn install(&self, dir: &Path) -> Result<PathBuf>;
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

/// Finds the tool in the environment or on this machine, or installs it.
pub(super) fn ensure(tool: &dyn Tool, root: &Path) -> Result<Variable> {
    let name = tool.name();
    let dir = slot::tool_dir(root, name);
    // Two runs at once must not install the same thing into each other.
    let _lock = Slot::shared(root).lock()?;
    let program = match find(tool, root) {
        Found::Named(program) => use_named(tool, program)?,
        Found::Ready(program) => program,
        Found::Nothing => {
            note(&format!("{name}: installing"));
            tool.install(&dir)?
        }
    };
    note(&format!("{name}: {}", program.display()));
    let value = program.to_str().map(str::to_owned);
    let value =
        value.ok_or_else(|| Error::failed(format!("{} is not a UTF-8 path", program.display())))?;
    Ok(Variable {
        name: tool.variable(),
        value,
    })
}

/// Looks for a tool without installing it.
pub(super) fn find(tool: &dyn Tool, root: &Path) -> Found {
    let dir = slot::tool_dir(root, tool.name());
    let named = env::var_os(tool.variable()).filter(|value| !value.is_empty());
    choose(tool, &dir, named.map(PathBuf::from))
}

fn choose(tool: &dyn Tool, dir: &Path, named: Option<PathBuf>) -> Found {
    match (named, tool.find(dir)) {
        // A shell that evaluated our own `export` lines names our own program, and
        // that one may be installed again if it is not in order.
        (Some(named), found) if !named.starts_with(dir) && found.as_ref() != Some(&named) => {
            Found::Named(named)
        }
        (_, Some(found)) => Found::Ready(found),
        (_, None) => Found::Nothing,
    }
}

fn use_named(tool: &dyn Tool, program: PathBuf) -> Result<PathBuf> {
    let (name, variable) = (tool.name(), tool.variable());
    match tool.works(&program) {
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

    /// A tool that is found where it says.
    struct Fake(Option<&'static str>);

    impl Tool for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn variable(&self) -> &'static str {
            "SEMEL_TEST_FAKE"
        }

        fn works(&self, program: &Path) -> Result<()> {
            Err(Error::failed(format!("{} is fake", program.display())))
        }

        fn find(&self, _: &Path) -> Option<PathBuf> {
            self.0.map(PathBuf::from)
        }

        fn install(&self, dir: &Path) -> Result<PathBuf> {
            Ok(dir.join("fake"))
        }
    }

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
            let chosen = choose(&Fake(found), Path::new("/tools"), named.map(PathBuf::from));
            assert_eq!(format!("{chosen:?}"), expected, "{named:?} {found:?}");
        }
    }

    #[test]
    fn a_named_tool_that_does_not_work_is_refused_with_advice() {
        let error = use_named(&Fake(None), PathBuf::from("/bin/b")).unwrap_err();
        let expected = "SEMEL_TEST_FAKE names /bin/b, which does not do: /bin/b is fake\n\
                        unset SEMEL_TEST_FAKE and run `cargo xtask services up fake` \
                        to have one installed";
        assert_eq!(error.to_string(), expected);
    }
}
