//! What verbs about messages work on: the inbox of a store, and the policies of a configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use semel_admin::Policies;
use semel_core::inbox::{Inbox, Operation};
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
    pub(crate) opened: Opened,
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

    /// Opens the store for what needs no inbox.
    pub(crate) async fn open_store(&self, store: StoreArgs, purpose: Purpose) -> Result<Opened> {
        let file = self.file(purpose)?;
        let named = file.as_ref().and_then(|file| file.store.as_ref());
        store.or(named).open_existing().await
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

    /// Refuses a consumer that neither the file nor the store knows, and names one that may be meant.
    pub(crate) async fn must_know(&self, consumer: &Scope) -> Result<()> {
        if self.policies.knows(consumer) {
            return Ok(());
        }
        let counts = self.inbox.counts().await?;
        if counts.iter().any(|counts| counts.consumer == *consumer) {
            return Ok(());
        }
        let in_store = counts.iter().map(|counts| counts.consumer.to_string());
        let in_file = self.policies.names().map(Scope::to_string);
        Err(self.unknown(consumer, in_file.chain(in_store).collect()))
    }

    /// Refuses a consumer to whom no message can be sent: one that the file does not name, or, without a file, one that the store
    /// has never had a message of.
    pub(crate) async fn must_take(&self, consumer: &Scope) -> Result<()> {
        match self.policies.is_complete() {
            true if self.policies.knows(consumer) => Ok(()),
            true => Err(self.unknown(
                consumer,
                self.policies.names().map(Scope::to_string).collect(),
            )),
            false => self.must_know(consumer).await,
        }
    }

    fn unknown(&self, consumer: &Scope, mut names: Vec<String>) -> Error {
        names.sort();
        names.dedup();
        let place = match self.policies.is_complete() {
            true => "the configuration file does not name it",
            false => {
                "there is no configuration file that names it, and the store has no message of it"
            }
        };
        let message = format!("there is no consumer {consumer}: {place}");
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = match (near(consumer, &all), all.as_slice()) {
            (Some(near), _) => format!("did you mean {near}?"),
            (None, []) => "name it in a configuration file, and name that with --config".to_owned(),
            (None, all) => format!("there are: {}", all.join(", ")),
        };
        Error::new(Exit::NotFound, message).hint(hint)
    }

    /// Refuses to let messages run whose order only a policy knows that is missing.
    pub(crate) async fn check_order(&self, operation: &Operation) -> Result<()> {
        let (consumer, action) = (&operation.plan.consumer, operation.action);
        let checked = self.policies.check_order(&*self.inbox, consumer, action);
        checked.await.map_err(|error| match error.kind() {
            semel_core::Kind::Invalid => Error::refused(error.to_string()),
            _ => error.into(),
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

/// The name that was probably meant: another version of the same name, or one that is a typing mistake away.
fn near<'a>(consumer: &Scope, all: &[&'a str]) -> Option<&'a str> {
    let same = |name: &&&str| {
        name.rsplit_once('@')
            .is_some_and(|(name, _)| name == consumer.name())
    };
    let same = all.iter().find(same).copied();
    same.or_else(|| semel_policy::closest(&consumer.to_string(), all))
}
