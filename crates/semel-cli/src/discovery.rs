//! Which configuration file is meant, and which store: the one place that decides it for every verb.
//!
//! The file is the one that `--config` or `SEMEL_CONFIG` names, else `semel.yaml` in the working directory if it is there. The store is
//! what `--store` names, else `SEMEL_STORE`, else what the file names, else the default. Verbs that only need the store do not read the
//! file if it cannot change which store that is.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use semel_policy::File;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;
use crate::serving::{Setting, Source};
use crate::stores::StoreArgs;
use crate::text;

/// The file that is read if none is named.
const HERE: &str = "semel.yaml";
const VARIABLE: &str = "SEMEL_CONFIG";

/// Which configuration file.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArg {
    /// The configuration file [default: semel.yaml if it is there]
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_name = "FILE",
        env = VARIABLE
    )]
    config: Option<PathBuf>,
}

/// A configuration file, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigPath {
    path: PathBuf,
    how: How,
}

/// How a configuration file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// `--config` names it.
    Option,
    /// `SEMEL_CONFIG` names it.
    Variable,
    /// It lies in the working directory.
    Here,
}

impl ConfigArg {
    /// The file that is meant, if there is one.
    pub(crate) fn path(&self) -> Option<ConfigPath> {
        let set = std::env::var_os(VARIABLE);
        let how = match &self.config {
            Some(path) if set.as_deref() == Some(path.as_os_str()) => How::Variable,
            Some(path) if set.is_none() && is_default(path) => How::Here,
            Some(_) => How::Option,
            None if is_there(Path::new(HERE)) => How::Here,
            None => return None,
        };
        let path = self.config.clone().unwrap_or_else(|| HERE.into());
        Some(ConfigPath { path, how })
    }

    /// Refuses a command line that names a store or a file for a verb that uses neither. The environment may name both.
    pub(crate) fn must_not_be_said(&self, store: &StoreArgs, verb: &str, why: &str) -> Result<()> {
        let set = std::env::var_os(VARIABLE).map(PathBuf::from);
        let option = match &self.config {
            _ if store.is_said() => "--store",
            Some(path) if set.as_ref() != Some(path) => "--config",
            _ => return Ok(()),
        };
        let message = format!("semel {verb} takes no {option}: {why}");
        Err(Error::new(Exit::Usage, message))
    }

    /// Whether there is a file that was found and not named.
    pub(crate) fn is_found(&self) -> bool {
        self.config.is_none() && self.path().is_some()
    }

    /// Where settings come from, with `flags` above the file and the environment.
    pub(crate) fn source(&self, flags: Vec<Setting>) -> Source {
        Source::new(self.path(), flags)
    }

    /// Reads the file that is meant, if there is one.
    pub(crate) fn load(&self) -> Result<Option<File>> {
        let source = self.source(Vec::new());
        let loaded = source.has_file().then(|| source.load()).transpose();
        loaded.map_err(|error| match self.is_found() {
            true => error.hint("set the file right, or name another with --config"),
            false => error,
        })
    }

    /// The store that is meant, for verbs that need nothing else of the file. Says which it is where that is not obvious.
    pub(crate) fn store(&self, store: StoreArgs) -> Result<StoreArgs> {
        // A file that is named has the keys of a store that is named, too.
        let file = match store.is_named() && self.config.is_none() {
            true => None,
            false => self.load()?,
        };
        Ok(self.announced(store, file.as_ref()))
    }

    /// The same for verbs that have read the file.
    pub(crate) fn announced(&self, store: StoreArgs, file: Option<&File>) -> StoreArgs {
        let named = file.and_then(|file| file.store.as_ref());
        let store = store.or(named, self.path()).with_keys_of(file);
        if let Some(origin) = store.origin() {
            output::note(&format!("using {}, {origin}", store.shown()));
        }
        store
    }
}

impl ConfigPath {
    /// A file that this program wrote itself.
    pub(crate) const fn made(path: PathBuf) -> Self {
        let how = How::Option;
        Self { path, how }
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.path
    }

    /// The file as people should know it.
    pub(crate) fn shown(&self) -> String {
        match self.how {
            How::Here => format!("./{HERE}"),
            How::Option | How::Variable => self.path.display().to_string(),
        }
    }

    /// The option that makes another command read the same file; empty if it would by itself.
    pub(crate) fn option(&self) -> String {
        match self.how {
            How::Option => format!(" --config {}", text::word(&self.path.to_string_lossy())),
            How::Variable | How::Here => String::new(),
        }
    }
}

fn is_default(path: &Path) -> bool {
    path.strip_prefix(".").unwrap_or(path) == Path::new(HERE)
}

/// A file that cannot be looked at, or a link that leads nowhere, is there: reading it says what is wrong, and no other store is taken
/// for the one that it names.
fn is_there(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_another_command_would_not_find_is_an_option() {
        let option = |path: &str| {
            let config = Some(path.into());
            ConfigArg { config }.path().unwrap().option()
        };
        assert_eq!(option("semel.yaml"), "");
        assert_eq!(option("./semel.yaml"), "");
        assert_eq!(option("/etc/semel.yaml"), " --config /etc/semel.yaml");
        assert_eq!(option("a b.yaml"), " --config 'a b.yaml'");
    }
}
