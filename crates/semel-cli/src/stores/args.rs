//! What the command line and the environment say about the store.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use semel_core::duration;
use semel_policy::File;
use semel_policy::value::{Engine, StoreUrl};
use semel_seal::Kek;

use super::{Opened, Opening, Purpose, Watch, postgres, url};
use crate::discovery::ConfigPath;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::text;

const VARIABLE: &str = "SEMEL_STORE";

/// Which store, and how patiently.
#[derive(Args)]
pub(crate) struct StoreArgs {
    /// The store: sqlite:PATH, postgres://…, redis://…, redis-cluster://…, or CLAIMS+OUTCOMES
    /// [default: what the configuration file names, or sqlite:semel.db]
    #[arg(
        long = "store",
        global = true,
        help_heading = "Global options",
        value_name = "URL",
        env = VARIABLE,
        hide_env_values = true
    )]
    named: Option<String>,

    /// What was found out about the configuration file.
    #[arg(skip)]
    file: Option<FromFile>,

    /// The keys of the configuration file that contents are sealed under.
    #[arg(skip = Keks::none())]
    keks: Keks,

    /// How long to wait for another process that writes to the same file
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "DURATION",
        env = "SEMEL_BUSY_TIMEOUT",
        value_parser = duration::parse,
        default_value = "5s"
    )]
    busy_timeout: Duration,
}

/// The keys of a file, or why they cannot be read: that there are none must not be taken from an error.
#[derive(Clone)]
struct Keks(std::result::Result<Vec<Kek>, String>);

impl Keks {
    const fn none() -> Self {
        Self(Ok(Vec::new()))
    }

    fn of(file: &File) -> Self {
        Self(file.keks().map_err(|error| error.to_string()))
    }

    fn read(&self) -> Result<Vec<Kek>> {
        let failed = |error| Error::new(Exit::Configuration, error);
        self.0.clone().map_err(failed)
    }
}

/// What a configuration file says about the store.
struct FromFile {
    path: ConfigPath,
    url: Option<String>,
}

impl fmt::Debug for StoreArgs {
    /// Without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreArgs").field(&self.shown()).finish()
    }
}

impl StoreArgs {
    /// The store that a file names, whatever the environment says.
    pub(crate) const fn of_file() -> Self {
        Self {
            named: None,
            file: None,
            keks: Keks::none(),
            busy_timeout: Duration::from_secs(5),
        }
    }

    fn text(&self) -> &str {
        let of_file = || self.file.as_ref()?.url.as_deref();
        let named = self.named.as_deref().or_else(of_file);
        named.unwrap_or(url::DEFAULT)
    }

    /// What is meant.
    pub(crate) fn url(&self) -> Result<StoreUrl> {
        url::read(self.text())
    }

    /// The store as far as it may be told: without users, passwords and parameters.
    pub(crate) fn shown(&self) -> String {
        match self.url() {
            Ok(url) => url.to_string(),
            // What is no address may be a password.
            Err(_) => "…".to_owned(),
        }
    }

    /// Whether the command line or the environment names the store.
    pub(crate) const fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// The same, but `store` of the file at `path` where the command line and the environment name none.
    pub(crate) fn or(self, store: Option<&StoreUrl>, path: Option<ConfigPath>) -> Self {
        let url = store.map(StoreUrl::text);
        let file = path.map(|path| FromFile { path, url });
        Self { file, ..self }
    }

    /// The same with the keys that a file names.
    pub(crate) fn with_keys_of(self, file: Option<&File>) -> Self {
        let keks = file.map_or(Keks::none(), Keks::of);
        Self { keks, ..self }
    }

    /// Where the store's name comes from; `None` if it stands on the command line.
    pub(crate) fn origin(&self) -> Option<String> {
        match &self.file {
            _ if self.is_said() => None,
            _ if self.is_named() => Some(format!("from {VARIABLE}")),
            Some(FromFile { path, url: Some(_) }) => Some(format!("from {}", path.shown())),
            Some(FromFile { path, url: None }) => {
                Some(format!("the default: {} names no store", path.shown()))
            }
            None => Some("the default".to_owned()),
        }
    }

    /// Whether the command line names the store, and not the environment.
    pub(crate) fn is_said(&self) -> bool {
        let set = std::env::var(VARIABLE).ok();
        self.named.is_some() && self.named != set
    }

    /// Opens a store to work with it: it is created if need be, and swept.
    pub(crate) async fn open_serving(&self, watch: Arc<dyn Watch>) -> Result<Opened> {
        let keks = self.keks.read()?;
        let opened = super::open(&self.url()?, &self.opening(Purpose::Serve(watch))).await?;
        let opened = opened.sealed(keks)?;
        opened.must_have_keys().await?;
        Ok(opened)
    }

    /// Opens a store that exists, to look into it: nothing is created and nothing is swept.
    pub(crate) async fn open_existing(&self) -> Result<Opened> {
        let keks = self.keks.read()?;
        let opened = super::open(&self.url()?, &self.opening(Purpose::Look)).await?;
        opened.sealed(keks)
    }

    fn opening(&self, purpose: Purpose) -> Opening {
        Opening {
            busy_timeout: self.busy_timeout,
            purpose,
        }
    }

    /// Whether a database that is part of the store has its tables. There is nothing to make elsewhere.
    pub(crate) async fn has_tables(&self) -> Result<bool> {
        match self.url()? {
            StoreUrl::One(address)
            | StoreUrl::Hybrid {
                outcomes: address, ..
            } if address.engine() == Engine::Postgres => postgres::has_tables(&address).await,
            StoreUrl::One(_) | StoreUrl::Hybrid { .. } => Ok(true),
        }
    }

    /// Refuses a store that has no inbox.
    pub(crate) fn must_have_inbox(&self) -> Result<()> {
        match self.url()? {
            StoreUrl::One(address)
                if matches!(address.engine(), Engine::Sqlite | Engine::Postgres) =>
            {
                Ok(())
            }
            StoreUrl::One(_) | StoreUrl::Hybrid { .. } => {
                let shown = self.shown();
                let message =
                    format!("the inbox needs SQLite or PostgreSQL, and the store is {shown}");
                Err(Error::new(Exit::Configuration, message)
                    .hint("name the store with --store sqlite:PATH or --store postgres://…"))
            }
        }
    }

    /// The file that is part of the store, if there is one.
    pub(crate) fn file(&self) -> Result<Option<PathBuf>> {
        let (StoreUrl::One(address)
        | StoreUrl::Hybrid {
            outcomes: address, ..
        }) = self.url()?;
        Ok(address.path().map(PathBuf::from))
    }

    /// The file that is the whole store; an error if it is another kind of store.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        let path = match self.url()? {
            StoreUrl::One(address) => address.path().map(PathBuf::from),
            StoreUrl::Hybrid { .. } => None,
        };
        path.ok_or_else(|| {
            let message = format!("expected sqlite:PATH here, found {}", self.shown());
            Error::new(Exit::Configuration, message)
        })
    }

    /// The option that makes another command use the same store; empty if it would by itself.
    pub(crate) fn option(&self) -> String {
        match self.is_named() {
            true => self.store_option(),
            false => self.config_option(),
        }
    }

    /// The options that make another command use the same store and read the same file.
    pub(crate) fn options(&self) -> String {
        self.config_option() + &self.store_option()
    }

    fn config_option(&self) -> String {
        let file = self.file.as_ref();
        file.map_or_else(String::new, |file| file.path.option())
    }

    fn store_option(&self) -> String {
        let text = self.text();
        let is_usual = text == url::DEFAULT && self.file.is_none();
        match self.url() {
            _ if !self.is_said() => String::new(),
            _ if is_usual && std::env::var_os(VARIABLE).is_none() => String::new(),
            Ok(url) if url.is_harmless() => format!(" --store {}", text::word(text)),
            // A password is not for the screen.
            _ => " --store …".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(named: &str) -> StoreArgs {
        StoreArgs {
            named: Some(named.to_owned()),
            file: None,
            keks: Keks::none(),
            busy_timeout: Duration::ZERO,
        }
    }

    #[test]
    fn passwords_are_neither_shown_nor_handed_on() {
        for (url, shown, option) in [
            ("sqlite:semel.db", "sqlite:semel.db", ""),
            ("sqlite:a b", "sqlite:a b", " --store 'sqlite:a b'"),
            ("redis://h:1", "redis://h:1", " --store redis://h:1"),
            ("redis://:pw@h:1", "redis://h:1", " --store …"),
            ("postgres://u:pw@h/d", "postgres://h/d", " --store …"),
            (
                "redis://:pw@h+postgres://u:pw@h/d",
                "redis://h+postgres://h/d",
                " --store …",
            ),
            ("oracle://u:pw@h", "…", " --store …"),
        ] {
            let args = args(url);
            assert_eq!(
                (args.shown().as_str(), args.option().as_str()),
                (shown, option),
                "{url}"
            );
            assert!(!format!("{args:?}").contains("pw"), "{args:?}");
        }
    }

    #[test]
    fn the_file_of_a_store_is_found() {
        let file = |url| args(url).file().ok().flatten();
        assert_eq!(file("sqlite:a/b.db"), Some("a/b.db".into()));
        assert_eq!(file("redis://h+sqlite:b.db"), Some("b.db".into()));
        assert_eq!(file("postgres://h/d"), None);
        assert!(args("redis://h+sqlite:b.db").path().is_err());
    }
}
