//! The scripts that the server runs, and one call of one of them, or of a command of the server's own.

use std::sync::LazyLock;

use redis::Cmd;

/// A script: its text, and the digest by which the server knows it once it has seen it.
#[derive(Debug)]
pub(crate) struct Script {
    text: &'static str,
    digest: String,
}

macro_rules! scripts {
    ($($name:ident = $file:literal),+ $(,)?) => {$(
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            let text = include_str!(concat!("../scripts/", $file));
            let digest = redis::Script::new(text).get_hash().to_owned();
            Script { text, digest }
        });
    )+};
}

scripts! {
    CLAIM = "claim.lua",
    SETTLE = "settle.lua",
    RENEW = "renew.lua",
    READ = "read.lua",
    APPLY = "apply.lua",
    TURN = "turn.lua",
    DUE = "due.lua",
    ENDED = "ended.lua",
    RETIRE = "retire.lua",
    FORGET = "forget.lua",
    LIST = "list.lua",
    RUNNING = "running.lua",
    STATS = "stats.lua",
}

/// One call of a script, about one or more items, or of a plain command.
#[derive(Debug)]
pub(crate) struct Call {
    what: What,
    keys: Vec<String>,
    args: Vec<Vec<u8>>,
    /// Whether replicas must have it, where they are waited for at all.
    pub(crate) replicas: Replicas,
    /// When it is sent again within its time.
    pub(crate) again: Again,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Script(&'static Script),
    Plain(&'static str),
}

/// When a call is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// Whenever that may help.
    Always,
    /// The same, but not because the server takes no writes: its caller does that.
    UnlessReadOnly,
}

/// What a call has to do with replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replicas {
    /// Nothing.
    Any,
    /// They are waited for, and it is done whether they answer or not.
    Waited,
    /// It is done only if enough of them have it.
    Must,
}

impl Call {
    /// A call of `script`.
    pub(crate) fn new(script: &'static Script) -> Self {
        Self::of(What::Script(script))
    }

    /// A call of a command that reads: what it returns passes through no script.
    pub(crate) fn plain(command: &'static str) -> Self {
        Self::of(What::Plain(command))
    }

    const fn of(what: What) -> Self {
        Self {
            what,
            keys: Vec::new(),
            args: Vec::new(),
            replicas: Replicas::Any,
            again: Again::Always,
        }
    }

    /// Says when the call is sent again.
    pub(crate) const fn again(mut self, again: Again) -> Self {
        self.again = again;
        self
    }

    /// Says what the call has to do with replicas.
    pub(crate) const fn replicas(mut self, replicas: Replicas) -> Self {
        self.replicas = replicas;
        self
    }

    /// Adds keys.
    pub(crate) fn keys(mut self, keys: impl IntoIterator<Item = String>) -> Self {
        self.keys.extend(keys);
        self
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, arg: impl Into<Vec<u8>>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds a number as an argument.
    pub(crate) fn number(self, number: impl std::fmt::Display) -> Self {
        self.arg(number.to_string())
    }

    /// The key that says where the call goes.
    pub(crate) fn first_key(&self) -> &str {
        self.keys.first().map_or("", String::as_str)
    }

    /// The command: a script by digest, or with its whole text for a server that does not know it.
    pub(crate) fn command(&self, whole: bool) -> Cmd {
        let mut cmd = match self.what {
            What::Plain(command) => redis::cmd(command),
            What::Script(script) if whole => redis::cmd("EVAL").arg(script.text).take(),
            What::Script(script) => redis::cmd("EVALSHA").arg(&script.digest).take(),
        };
        if matches!(self.what, What::Script(_)) {
            cmd.arg(self.keys.len());
        }
        for key in &self.keys {
            cmd.arg(key);
        }
        for arg in &self.args {
            cmd.arg(arg.as_slice());
        }
        cmd
    }
}
