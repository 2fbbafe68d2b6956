//! What verbs about messages work on: the inbox of a store, and the policies of a configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use semel_admin::Policies;
use semel_core::inbox::Inbox;
use semel_core::{Scope, Timestamp};
use semel_inbox::Consumer;
use semel_inbox::Rule;
use semel_policy::File;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;
use crate::serving::{self, Source, policies};
use crate::stores::{Opened, StoreArgs};

/// The file that is read if none is named.
const DEFAULT: &str = "semel.yaml";

/// Which configuration file.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArg {
    /// The configuration file, for the store and the consumers' policies [default: semel.yaml if it is there]
    #[arg(long, value_name = "FILE", env = "SEMEL_CONFIG", global = true)]
    config: Option<PathBuf>,
}

/// What a configuration file that cannot be used means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing is changed: a file that nobody asked for may be wrong.
    Look,
    /// Messages are changed by what the file says about their consumer, so it has to be right.
    Act,
}

/// An open inbox.
pub(crate) struct OpenInbox {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) policies: Policies,
    file: Option<File>,
    pub(crate) store: StoreArgs,
    opened: Opened,
}

impl ConfigArg {
    /// Opens the store that the command line, the environment or the file names.
    pub(crate) async fn open(&self, store: StoreArgs, purpose: Purpose) -> Result<OpenInbox> {
        let file = self.file(purpose)?;
        let policies = file.as_ref().map(policies).transpose()?;
        let named = file.as_ref().and_then(|file| file.store.as_ref());
        let store = store.or(named);
        store.must_have_inbox()?;
        let opened = store.open_existing().await?;
        let inbox = opened.inbox.clone();
        Ok(OpenInbox {
            inbox: inbox.expect("SQLite and PostgreSQL have an inbox"),
            policies: policies.unwrap_or_default(),
            file,
            store,
            opened,
        })
    }

    fn file(&self, purpose: Purpose) -> Result<Option<File>> {
        let load = |path: &Path| Source::new(Some(path.to_owned()), Vec::new()).load();
        if let Some(path) = &self.config {
            return load(path).map(Some);
        }
        if !Path::new(DEFAULT).exists() {
            return Ok(None);
        }
        match load(Path::new(DEFAULT)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if purpose == Purpose::Look => {
                let said = error.message();
                output::note(&format!("{DEFAULT} is left aside: {said}"));
                Ok(None)
            }
            Err(error) => Err(error.hint(
                "what the file says about a consumer decides how its messages change; \
                 set it right, or name another with --config",
            )),
        }
    }
}

impl OpenInbox {
    /// What the file says about a consumer and about where its messages say who they are, or what is usual.
    pub(crate) fn consumer(&self, name: &Scope) -> Result<(Consumer, Rule)> {
        let bad = |error: semel_policy::Error| Error::new(Exit::Configuration, error.to_string());
        let known = self.file.as_ref().map(|file| file.consumers().map_err(bad));
        let known = known.transpose()?.unwrap_or_default();
        let found = known.iter().find(|one| one.name() == name);
        Ok(match found {
            Some(found) => (found.policy.clone(), serving::rule(found)),
            None => (Consumer::new(name.clone()), Rule::cloud_events()),
        })
    }

    /// The present instant, by the store's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.opened.now()
    }

    /// The option that makes another command use the same store.
    pub(crate) fn option(&self) -> String {
        self.store.option()
    }
}
