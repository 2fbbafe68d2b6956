//! Where settings come from: defaults, then the file, then the environment, then flags.

use std::fmt::Display;

use semel_policy::File;

use crate::discovery::ConfigPath;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// Flags that every serving verb has.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Where to serve health, metrics and the API, or `off` [default: 127.0.0.1:7071]
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,

    /// The least important lines that are logged: error, warn, info, debug, trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,

    /// How lines are logged: text, json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Flags {
    /// The flags as settings of the file that they stand for.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let admin = match self.admin.as_deref() {
            Some("off") => Some(Setting::new("--admin", "admin", "off")),
            Some(listen) => Some(Setting::new("--admin", "admin.listen", listen)),
            None => None,
        };
        let level = self.log.as_ref();
        let level = level.map(|level| Setting::new("--log", "log.level", level));
        let format = self.log_format.as_ref();
        let format = format.map(|format| Setting::new("--log-format", "log.format", format));
        [admin, level, format].into_iter().flatten().collect()
    }
}

/// One setting of the file, from a flag.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    flag: &'static str,
    variable: String,
    value: String,
}

impl Setting {
    /// The setting at `path`, such as `gateway.listen`, that `flag` stands for.
    pub(crate) fn new(flag: &'static str, path: &str, value: impl Display) -> Self {
        Self {
            flag,
            variable: format!("SEMEL_{}", path.to_uppercase().replace('.', "__")),
            value: value.to_string(),
        }
    }

    /// Whether it concerns the process, and not what is served.
    fn is_of_process(&self) -> bool {
        let sections = ["SEMEL_ADMIN", "SEMEL_LOG"];
        sections.iter().any(|name| self.variable.starts_with(name))
    }

    /// Whether it decides what a variable says, too.
    fn is_above(&self, variable: &str) -> bool {
        let within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        within(variable, &self.variable) || within(&self.variable, variable)
    }
}

/// A file, maybe, and what stands above it.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    file: Option<ConfigPath>,
    flags: Vec<Setting>,
    takes: Takes,
}

/// What of the file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Everything,
    /// Only what concerns the process, whatever it serves.
    Process,
    /// Everything, and nothing of the environment but these variables, which the file asks for by name.
    Alone(&'static [&'static str]),
}

impl Source {
    pub(crate) const fn new(file: Option<ConfigPath>, flags: Vec<Setting>) -> Self {
        let takes = Takes::Everything;
        Self { file, flags, takes }
    }

    /// The same, but of the file only the store with its keys, the admin side, the log and the traces count: what is served, flags say.
    pub(crate) const fn of_process(file: Option<ConfigPath>, flags: Vec<Setting>) -> Self {
        let takes = Takes::Process;
        Self { file, flags, takes }
    }

    /// A file that this program wrote itself: no variable stands above it, and it may use these ones.
    pub(crate) const fn of_file_alone(
        file: ConfigPath,
        variables: &'static [&'static str],
    ) -> Self {
        Self {
            file: Some(file),
            flags: Vec::new(),
            takes: Takes::Alone(variables),
        }
    }

    /// The file, if there is one.
    pub(crate) const fn path(&self) -> Option<&ConfigPath> {
        self.file.as_ref()
    }

    /// Whether a file says what is served.
    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some() && self.takes != Takes::Process
    }

    /// Reads everything anew.
    pub(crate) fn load(&self) -> Result<File> {
        let all: Vec<_> = self.flags.iter().collect();
        match (self.takes, &self.file) {
            (Takes::Everything | Takes::Alone(_), file) => self.load_from(file.as_ref(), &all),
            (Takes::Process, None) => self.load_from(None, &all),
            (Takes::Process, file) => {
                let (process, _): (Vec<_>, Vec<_>) =
                    all.iter().partition(|flag| flag.is_of_process());
                let written = self.load_from(file.as_ref(), &process)?;
                let served = self.load_from(None, &all)?;
                Ok(File {
                    store: written.store,
                    admin: written.admin,
                    log: written.log,
                    // The keys go with the store, or its contents would be plain from here.
                    encryption: written.encryption,
                    tracing: written.tracing,
                    ..served
                })
            }
        }
    }

    fn load_from(&self, file: Option<&ConfigPath>, flags: &[&Setting]) -> Result<File> {
        let decided = |name: &str| flags.iter().any(|flag| flag.is_above(name));
        let flags = flags.iter();
        let flags = flags.map(|flag| (flag.variable.clone(), flag.value.clone()));
        // What is not text cannot be meant for us.
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let is_heard = |name: &str| match self.takes {
            Takes::Alone(heard) => heard.contains(&name),
            Takes::Everything | Takes::Process => true,
        };
        let variables = variables.filter(|(name, _)| is_heard(name) && !decided(name));
        let settings = variables.chain(flags);
        let loaded = match file {
            Some(path) => File::load_with(path.as_path(), settings),
            None => File::parse("", "", settings),
        };
        loaded.map_err(|error| Error::new(Exit::Configuration, self.told(&error.to_string())))
    }

    /// People who use flags want to hear of flags.
    fn told(&self, message: &str) -> String {
        let named = |message: String, flag: &Setting| message.replace(&flag.variable, flag.flag);
        self.flags.iter().fold(message.to_owned(), named)
    }
}
