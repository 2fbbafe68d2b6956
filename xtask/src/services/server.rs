//! What is to be known about a server: where it comes from, how it is started, how to see that it is ready, and which
//! variable names it. This is data; `servers.rs` has the descriptions and `runner.rs` follows them.
//!
//! Lists of words are texts with spaces between. Texts and the words of command lines are templates. Their names:
//!
//! | name | what it stands for |
//! |---|---|
//! | `{home}`, `{node}` | the server's directory, and that of the process; the same unless there are several |
//! | `{port}`, `{port2}`, … | the ports of the process, on 127.0.0.1 |
//! | `{hosts}`, `{host-words}` | `127.0.0.1:{port}` of every process, with commas or spaces between |
//! | `{secret}` | a password that fits into a URL |
//! | what a part says | a program, or the directory of a part: see `part/` |

use crate::error::Result;

use super::endpoint::Target;
use super::part::Part;
use super::probe;
use super::setting::Setting;

/// Fails unless a server of the expected kind answers.
pub(super) type Probe = fn(&Target<'_>) -> Result<()>;

/// One kind of server that tests can ask for.
pub(super) struct Server {
    /// The name used on the command line.
    pub(super) name: &'static str,
    /// The environment variable that names the server to the tests.
    pub(super) variable: &'static str,
    /// What has to be installed.
    pub(super) parts: &'static [Part],
    /// The accounts that it may run under if root starts it, the best first; none if root is as good.
    pub(super) accounts: &'static str,
    /// How many processes it consists of.
    pub(super) nodes: usize,
    /// How many ports each process needs.
    pub(super) ports: usize,
    /// Its address, made of `{hosts}` and `{secret}`.
    pub(super) address: &'static str,
    /// What an address may begin with; nothing if it is a list of hosts.
    pub(super) schemes: &'static [&'static str],
    /// The port of an address that names none.
    pub(super) default_port: u16,
    /// What is done in the empty directory of each process before its first start.
    pub(super) setup: &'static [Step],
    /// A line of its settings.
    pub(super) setting: fn(&Setting) -> String,
    /// The command line of each process.
    pub(super) start: &'static str,
    /// The file names of all programs that its processes run.
    pub(super) programs: &'static str,
    /// The signal that ends it when its data is no longer needed.
    pub(super) stop: &'static str,
    /// What a crash leaves behind in a process's directory that would keep it from starting.
    pub(super) stale: &'static [&'static str],
    /// What makes one server of several processes after their first start.
    pub(super) unite: Option<Unite>,
    /// Whether a process, or a server that the environment names, answers.
    pub(super) answers: Probe,
    /// Whether the whole can be used after a start, if that takes more than an answer.
    pub(super) ready: Option<Probe>,
}

/// Part of a setup.
pub(super) enum Step {
    /// Writes a file: its name and its text.
    File(&'static str, &'static str),
    /// The same for the file that settings of a test are added to. Among several settings of one name the last one counts.
    Settings(&'static str, &'static str),
    /// Runs a command line.
    Run(&'static str),
}

/// How processes that do not know each other become one server.
pub(super) struct Unite {
    /// Whether each process can be united with the others.
    pub(super) answers: Probe,
    /// The command line, run once.
    pub(super) line: &'static str,
}

impl Server {
    /// What most servers are like; a description says what is different.
    pub(super) const PLAIN: Self = Self {
        name: "",
        variable: "",
        parts: &[],
        accounts: "",
        nodes: 1,
        ports: 1,
        address: "{hosts}",
        schemes: &[],
        default_port: 0,
        setup: &[],
        setting: |Setting { name, value }| format!("{name} = {value}\n"),
        start: "",
        programs: "",
        stop: "KILL",
        stale: &[],
        unite: None,
        answers: probe::connects,
        ready: None,
    };

    /// Fails unless a server of this kind answers at `address`.
    pub(super) fn check(&self, address: &str) -> Result<()> {
        (self.answers)(&self.target(address)?)
    }

    pub(super) fn target<'a>(&self, address: &'a str) -> Result<Target<'a>> {
        Target::parse(address, self.schemes, self.default_port)
    }
}
