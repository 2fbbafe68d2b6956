//! From a file, or its text, to checked data.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compile;
use crate::error::{Error, Kind, Result};
use crate::file::{
    Admin, Alerts, Consumer, Encryption, Gateway, IdempotentConsumer, InboxListen, Log,
    ProcessLimits, Target, Tracing,
};
use crate::limits::FILE_BYTES_MAX;
use crate::tree::fill::{self, Variables};
use crate::tree::read::Fault;
use crate::tree::{Node, Value, overlay, yaml};
use crate::value::{Named, StoreUrl};

/// The sections that a variable can stand for.
const SECTIONS: [&str; 12] = [
    "store",
    "encryption",
    "log",
    "tracing",
    "limits",
    "admin",
    "alerts",
    "gateway",
    "inbox",
    "consumers",
    "idempotentConsumer",
    "intents",
];

/// A configuration file, checked.
///
/// ```
/// use semel_policy::File;
///
/// let text = "gateway: { upstream: 'http://127.0.0.1:8080', lease: 20s }";
/// let env = [("SEMEL_GATEWAY__LISTEN".to_owned(), "127.0.0.1:9000".to_owned())];
/// let file = File::parse("semel.yaml", text, env)?;
/// let gateway = file.gateway.expect("the text has this section");
/// assert_eq!(gateway.listen.to_string(), "127.0.0.1:9000");
/// assert_eq!(gateway.routes()?[0].rules.lease.get().as_secs(), 20);
///
/// let wrong = File::parse("semel.yaml", "gateway: { lease: 30 parsecs }", []).unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "semel.yaml:1:19: gateway.lease: expected a duration such as 30s, found \"30 parsecs\"",
/// );
/// # Ok::<(), semel_policy::Error>(())
/// ```
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// Where records live: one store, or one for claims and one for outcomes. Default: sqlite:semel.db.
    pub store: Option<StoreUrl>,
    /// The keys that contents in the store are sealed under. Default: none.
    pub encryption: Encryption,
    /// What is logged, and how.
    pub log: Log,
    /// Which requests and messages are traced, and where the traces are sent. Default: nowhere.
    pub tracing: Tracing,
    /// What all doors share.
    pub limits: ProcessLimits,
    /// The door for operators, or off. Default: on loopback.
    pub admin: Admin,
    /// What the process judges about itself, and who hears of it.
    pub alerts: Alerts,
    /// The proxy in front of a service.
    pub gateway: Option<Gateway>,
    /// The door for messages that are posted to consumers.
    pub inbox: InboxListen,
    /// Who takes messages, by name.
    pub consumers: Named<Consumer>,
    /// The same, for policies that are written under this root.
    #[serde(rename = "idempotentConsumer")]
    pub idempotent_consumer: IdempotentConsumer,
    /// Where intents are sent, by name.
    pub intents: Named<Target>,
}

impl File {
    /// Reads and checks a file, with the environment of this process.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, environment(std::env::vars_os()))
    }

    /// Reads and checks a file, with these variables instead of the environment.
    pub fn load_with(
        path: impl AsRef<Path>,
        env: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let text = read(path, &name)?;
        Self::parse(&name, &text, env)
    }

    /// Checks a text. Errors call it `name`, and paths in it are relative to the directory of `name`.
    pub fn parse(
        name: &str,
        text: &str,
        env: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let tree = tree(name, text, &env.into_iter().collect())?;
        let located = |fault: Fault| {
            let error = Error::whole(Kind::Invalid, name, fault.message(&tree));
            error.at(fault.place(&tree)).of(fault.path())
        };
        let mut file = Self::deserialize(&tree).map_err(located)?;
        file.resolve(Path::new(name).parent().unwrap_or(Path::new("")));
        let routes = file.gateway.as_ref().map(Gateway::compile).transpose();
        let routes = routes.map_err(located)?.unwrap_or_default();
        file.check_memory(&routes).map_err(located)?;
        compile::encryption::keks(&file.encryption).map_err(located)?;
        compile::quota::terms(&file.limits).map_err(located)?;
        file.check_tokens().map_err(located)?;
        file.check_tracing().map_err(located)?;
        file.compile_messages().map_err(located)?;
        Ok(file)
    }

    /// Paths in the file are relative to its directory.
    fn resolve(&mut self, directory: &Path) {
        self.admin.resolve(directory);
        self.inbox.resolve(directory);
        if let Some(gateway) = &mut self.gateway {
            gateway.resolve(directory);
        }
        let others = self.idempotent_consumer.consumers.iter_mut();
        for (_, consumer) in self.consumers.iter_mut().chain(others) {
            consumer.resolve(directory);
        }
    }
}

fn tree(name: &str, text: &str, variables: &Variables) -> Result<Node> {
    let mut tree = yaml::parse(name, text)?;
    if let Value::Null = tree.value {
        // A file of comments says nothing, which is fine.
        tree.value = Value::Map(Vec::new());
    }
    overlay::lay(name, &mut tree, variables, &SECTIONS)?;
    fill::fill(name, &mut tree, variables)?;
    Ok(tree)
}

/// The text of a file, but no more of it than a configuration may have.
fn read(path: &Path, name: &str) -> Result<String> {
    let unreadable =
        |error: std::io::Error| Error::whole(Kind::Unreadable, name, error.to_string());
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!("expected at most {FILE_BYTES_MAX} bytes, found more");
        return Err(Error::whole(Kind::Limit, name, message));
    }
    String::from_utf8(bytes).map_err(|_| Error::whole(Kind::Syntax, name, "expected UTF-8 text"))
}

/// What is not text cannot be meant for us.
fn environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (String, String)> {
    variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
