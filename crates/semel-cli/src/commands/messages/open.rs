//! What verbs about messages work on: the inbox of a store, and the policies of a configuration file.

use std::sync::Arc;

use semel_admin::Policies;
use semel_core::inbox::{Inbox, Operation};
use semel_core::{Scope, Timestamp};
use semel_inbox::Consumer;
use semel_inbox::Rule;
use semel_policy::{CompiledConsumer, File};

use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;
use crate::serving::{self, policies};
use crate::stores::{Opened, StoreArgs};

/// What a configuration file that cannot be used means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing is changed: a file that is neither named nor needed for the store may be wrong.
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

/// The file that is meant. One that was only found may be wrong if nothing is changed and something else names the store.
fn file(config: &ConfigArg, store: &StoreArgs, purpose: Purpose) -> Result<Option<File>> {
    let error = match config.load() {
        Ok(file) => return Ok(file),
        Err(error) if !config.is_found() => return Err(error),
        Err(error) => error,
    };
    match purpose {
        Purpose::Look if store.is_named() => {
            output::note(&format!("the file is left aside: {}", error.message()));
            Ok(None)
        }
        Purpose::Look => Err(error),
        Purpose::Act => Err(error.hint(
            "what the file says about a consumer decides how its messages change; \
             set it right, or name another with --config",
        )),
    }
}

impl OpenInbox {
    /// Opens the store that the command line, the environment or the file names.
    pub(crate) async fn open(
        config: &ConfigArg,
        store: StoreArgs,
        purpose: Purpose,
    ) -> Result<Self> {
        let file = file(config, &store, purpose)?;
        let policies = file.as_ref().map(policies).transpose()?;
        let store = config.announced(store, file.as_ref());
        store.must_have_inbox()?;
        let opened = store.open_existing().await?;
        let inbox = opened.inbox.clone();
        Ok(Self {
            inbox: inbox.expect("SQLite and PostgreSQL have an inbox"),
            policies: policies.unwrap_or_default(),
            file,
            store,
            opened,
        })
    }

    /// What the file says about a consumer that is sent messages, and about where these say who they are, or what is usual. A consumer that stores no messages
    /// is refused: what was stored for it would wait for ever.
    pub(crate) fn consumer(&self, name: &Scope) -> Result<(Consumer, Rule)> {
        let bad = |error: semel_policy::Error| Error::new(Exit::Configuration, error.to_string());
        let known = self.file.as_ref().map(|file| file.consumers().map_err(bad));
        let known = known.transpose()?.unwrap_or_default();
        let found = known.iter().find(|one| one.name() == name);
        match found {
            Some(found) if !found.has_inbox => Err(stores_nothing(found)),
            Some(found) => Ok((found.policy.clone(), serving::rule(found))),
            None => Ok((Consumer::new(name.clone()), Rule::cloud_events())),
        }
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

    /// The options that make another command use the same store and the same policies.
    pub(crate) fn option(&self) -> String {
        self.store.options()
    }
}

fn stores_nothing(consumer: &CompiledConsumer) -> Error {
    let name = consumer.name();
    let (why, hint) = match &consumer.processed_log {
        Some(log) => (
            "its processed ids are in a topic (processed_log)",
            format!(
                "publish messages to the topic that it reads; bring its dead letters ({}) in for another consumer, one with an inbox",
                log.dead_letters
            ),
        ),
        None => (
            "inbox.enabled is false",
            "hand messages to the program that has this consumer".to_owned(),
        ),
    };
    let message =
        format!("consumer {name} stores no messages, because {why}: nothing would run this");
    Error::refused(message).hint(hint)
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
