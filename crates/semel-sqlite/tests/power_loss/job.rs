//! What all processes of a run agree on: where the files are, which operations there are, and when the power fails.

use std::fs;
use std::path::{Path, PathBuf};

use semel_core::inbox::{Message, Plan as Consumer};
use semel_core::{Identity, Key, Outcome, Scope, Tenant};
use semel_powerloss::{Fault, Moment, Plan};
use semel_sqlite::Config;
use semel_testkit::ledger::Ledger;
use tempfile::TempDir;

/// The variable that makes a process of this program a worker.
const VARIABLE: &str = "SEMEL_POWER_LOSS_JOB";
/// Sixteen pages: the log is copied into the file and starts over all the time.
const LOG_BYTES: u64 = 16 * 4_096;

/// What a worker is started for.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// The directory of the run.
    pub(crate) root: PathBuf,
    pub(crate) task: Task,
    pub(crate) moment: Moment,
    pub(crate) nth: u64,
    pub(crate) seed: u64,
    pub(crate) fault: Option<Fault>,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Operations from this number on, until the power fails.
    Serve(u64),
    /// It opens the store and says what came of it.
    Open,
}

impl Job {
    /// How the job is handed to a worker: the variable and its value.
    pub(crate) fn words(&self) -> (&'static str, String) {
        let task = match self.task {
            Task::Serve(first) => first.to_string(),
            Task::Open => "open".to_owned(),
        };
        let words = [
            self.root.display().to_string(),
            task,
            self.moment.name().to_owned(),
            self.nth.to_string(),
            self.seed.to_string(),
            self.fault.map_or("-", Fault::name).to_owned(),
        ];
        (VARIABLE, words.join("\t"))
    }

    /// The job of this process, if it was started as a worker.
    pub(crate) fn from_environment() -> Option<Self> {
        let words = std::env::var(VARIABLE).ok()?;
        let words: Vec<&str> = words.split('\t').collect();
        let [root, task, moment, nth, seed, fault] = words[..] else {
            panic!("expected six words, found {words:?}");
        };
        Some(Self {
            root: root.into(),
            task: task.parse().map_or(Task::Open, Task::Serve),
            moment: Moment::from_name(moment).expect("a known moment"),
            nth: nth.parse().expect("a number"),
            seed: seed.parse().expect("a number"),
            fault: Fault::from_name(fault),
        })
    }

    /// When the power fails and where the rest goes.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            dir: live(&self.root),
            image: image(&self.root),
            moment: self.moment,
            nth: self.nth,
            seed: self.seed,
            fault: self.fault,
        }
    }
}

/// A directory for one run. Durability is simulated, so memory does as well as a disk, and does not make the test wait.
pub(crate) fn workplace() -> TempDir {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let dir = dir.expect("a directory can be made");
    fs::create_dir(live(dir.path())).expect("a directory can be made");
    dir
}

/// Where the store's files are.
pub(crate) fn live(root: &Path) -> PathBuf {
    root.join("live")
}

/// Where the files are written as a restart finds them.
pub(crate) fn image(root: &Path) -> PathBuf {
    root.join("image")
}

/// The provider, which is outside of the machine whose power fails.
pub(crate) fn ledger(root: &Path) -> Ledger {
    Ledger::open(root.join("ledger")).expect("the ledger opens")
}

/// The store in `dir`.
pub(crate) fn config(dir: &Path) -> Config {
    let config = Config::new(dir.join("semel.db"));
    config.wal_bytes(LOG_BYTES).readers(1).sweep_every(None)
}

/// What is done with an operation of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is claimed, takes effect and is settled.
    Payment,
    /// It is claimed, released and claimed again.
    Release,
    /// It is a message: received, claimed, takes effect and is finished.
    Message,
}

pub(crate) fn kind_of(number: u64) -> Kind {
    match number % 4 {
        2 => Kind::Release,
        3 => Kind::Message,
        _ => Kind::Payment,
    }
}

/// The name of an operation, in the ledger and in what workers say.
pub(crate) fn name_of(number: u64) -> String {
    format!("operation-{number}")
}

/// The number in a name.
pub(crate) fn number_of(name: &str) -> u64 {
    let number = name.strip_prefix("operation-");
    number
        .and_then(|n| n.parse().ok())
        .expect("the name of an operation")
}

/// The identity of an operation that is no message.
pub(crate) fn identity_of(name: &str) -> Identity {
    Identity::parse("t", "payments@1", name).expect("names of operations are valid keys")
}

/// The consumer of the messages.
pub(crate) fn consumer() -> Consumer {
    Consumer::new(Scope::new("orders", 1).expect("a valid name"))
}

/// The identity of an operation that is a message.
pub(crate) fn message_identity_of(name: &str) -> Identity {
    let key = Key::new(name).expect("names of operations are valid keys");
    Identity::new(Tenant::public(), consumer().consumer, key)
}

/// The message, as its source delivers it every time.
pub(crate) fn message_of(name: &str) -> Message {
    let payload = format!("payload of {name}");
    Message::new(message_identity_of(name), payload).expect("a small payload")
}

/// What the run of an operation brings: bodies from nothing to more than a page.
pub(crate) fn outcome_of(name: &str) -> Outcome {
    let number = name
        .bytes()
        .fold(7_usize, |n, byte| n * 31 % 6_007 + usize::from(byte));
    Outcome::succeeded(name.repeat(number % 500))
}
